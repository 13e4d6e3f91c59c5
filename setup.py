"""The compiled part: libneuralnetworks.so and its bridge to Python. Without a C compiler the package does without."""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, "native")

LIBRARY = "nnapi.capi.libneuralnetworks"


class BuildNative(build_ext):
    """Both are made by the C compiler; that one of them is no Python module only shows in its name."""

    def get_ext_filename(self, fullname):
        name = super().get_ext_filename(fullname)
        is_library = fullname in (LIBRARY, LIBRARY.rpartition(".")[2])
        return name.removesuffix(sysconfig.get_config_var("EXT_SUFFIX")) + ".so" if is_library else name

    def get_export_symbols(self, ext):
        return []

    def build_extensions(self):
        from generate import bridge, entries, forward

        made = Path(self.build_temp)
        made.mkdir(parents=True, exist_ok=True)
        bridge().emit_c_code(str(made / "_bridge.c"))
        (made / "forward.h").write_text(forward())
        libpython = sysconfig.get_config_var("INSTSONAME")
        macros = {
            "NNAPI_ENTRIES": str(entries()),
            "NNAPI_BRIDGE": f'"_bridge{sysconfig.get_config_var("EXT_SUFFIX")}"',
            "NNAPI_PYTHON_VERSION": f'"{sysconfig.get_python_version()}"',
            "NNAPI_PYTHON_PATH": f'"{sys.executable}"',
            "NNAPI_LIBPYTHON": f'"{libpython}"',
            "NNAPI_LIBPYTHON_PATH": f'"{Path(sysconfig.get_config_var("LIBDIR"), libpython)}"',
        }
        for extension in self.extensions:
            extension.include_dirs += [str(made), "native", "src/nnapi/capi/include"]
            if extension.name == LIBRARY:
                extension.define_macros += list(macros.items())
            else:
                extension.sources = [str(made / "_bridge.c")]
                extension.define_macros += [("_CFFI_NO_LIMITED_API", "1")]  # it starts the interpreter
        super().build_extensions()


setup(
    ext_modules=[
        Extension("nnapi.capi._bridge", ["native/bridge.c"], optional=True),
        Extension(
            LIBRARY,
            ["native/library.c"],
            optional=True,
            extra_compile_args=["-fvisibility=hidden"],
            extra_link_args=["-Wl,-soname,libneuralnetworks.so", "-Wl,-z,nodelete", "-ldl", "-pthread"],
        ),
    ],
    cmdclass={"build_ext": BuildNative},
)
