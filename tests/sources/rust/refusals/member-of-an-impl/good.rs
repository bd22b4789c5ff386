use cuda_device::tile_export;

pub struct Scale(f32);

impl Scale {
    pub fn apply(&self, x: f32) -> f32 {
        x * self.0
    }
}

#[tile_export(tile_shape = 128)]
pub fn apply(x: f32) -> f32 {
    Scale(2.0).apply(x)
}
