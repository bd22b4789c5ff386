pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
