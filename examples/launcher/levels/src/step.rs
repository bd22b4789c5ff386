const LEVELS: f32 = 16.0;

pub fn towards_zero(x: f32) -> f32 {
    (x * LEVELS).trunc() / LEVELS
}
