"""One project with every kind of artifact that is made without a GPU or a Mac."""

from __future__ import annotations

from end_to_end.sandbox import LIMIT, RELU
from end_to_end.test_provider_libraries import EXAMPLE
from end_to_end.test_tile_programs import CALLER
from end_to_end.test_tile_shaders import KERNEL

GRAPH = """\
relu = env.TileLibrary("relu", "relu.cu", **given("relu"))
rust = env.TileLibrary("rust", "crate", **given("rust"))
env.TileLibrary("sized", "any.cu", **{"tile_shapes": "64,256", **given("sized")})
provider = env.TileLibrary("any", "any.rs", provider=1, provider_abi="observed")
provider = env.TileLibrary("tilelib_any", "tilelib_any.cu", provider=1, provider_abi="observed")
bindings = env.TileBindings(relu)
env.TileProgram("caller", "caller.cu", libraries=[relu], **given("caller"))
env.TileProgram("caller.cubin", "caller.cu", libraries=[relu])
env.TileMockCaller(relu)
env.TileMockCaller(rust, reference="expected.py")
env.NvJitLink("linked.ptx", relu.ltoir, **{"TILELIB_LINK_ARCH": "sm_120", **given("link")})
scale = env.TileShader(
    "scale", "kernel.py",
    **{"backends": ["cuda", "metal"], "specialisations": {"x": (1003,), "y": (1003,)}, **given("scale")}
)
env.MetalLibrary("shaders", [scale])
env.TilePackage(**{
    "name": "relu", "nodes": [relu, bindings, "LICENSE"], "version": "1.0", "license": "MIT",
    "formats": ["zip", "tar.gz", "wheel"], **given("package"),
})
"""
"""`env` is an environment, `given(...)` the further arguments of a call."""

SCONSTRUCT = f"""\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
given = lambda name: {{}}
{GRAPH}"""

RUST = "use cuda_device::tile_export;\n\n#[tile_export{arguments}]\npub fn {name}(x: f32) -> f32 {{\n    {body}\n}}\n"

FILES = {
    "SConstruct": SCONSTRUCT,
    "relu.cu": RELU,
    "limit.cuh": LIMIT,
    "crate/Cargo.toml": '[package]\nname = "rust"\nversion = "0.1.0"\nedition = "2021"\n',
    "crate/src/lib.rs": "mod half;\n"
    + RUST.format(arguments="(tile_shape = 128)", name="halved", body="x * half::HALF"),
    "crate/src/half.rs": "pub const HALF: f32 = 0.5;\n",
    "any.rs": RUST.format(arguments="", name="same_any", body="x"),
    "any.cu": "[[tile_export]] __device__ float relu_any(float x) { return x > 0.0f ? x : 0.0f; }\n",
    "tilelib_any.cu": (EXAMPLE / "tilelib_any.cu").read_text(encoding="utf-8"),
    "caller.cu": CALLER + "\nint main() { return 0; }\n",
    "size.h": "constexpr unsigned kSize = 128;\n",
    "expected.py": "import numpy\nfrom factor import FACTOR\n\ndef halved(x): return x * numpy.float32(FACTOR)\n",
    "factor.py": "FACTOR = 0.5\n",
    "kernel.py": KERNEL,
    "sizes.py": "TILE = 16\n",
    "LICENSE": "Anyone may do anything.\n",
}
BUNDLES = ("relu.verify.zip", "rust.verify.zip")
