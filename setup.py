"""Build the compiled parts: libneuralnetworks.so, its bridge to Python, the delegate for LiteRT, and nnapi-agent.

Without a C compiler, the package is installed without them.
"""

import compileall
import platform
import re
import shutil
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

LOCAL = r"(?!https?:)[^)]+"  # the target of a link into the repository

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "native"), str(HERE / "native" / "agent")]

ABI = sysconfig.get_config_var("SOABI")
BRIDGE = "nnapi.capi._bridge"
AGENT = "nnapi.drivers.foreign.nnapi-agent"
ANDROID_AGENT = f"{AGENT}-android"
FOLDER = f"nnapi.capi.{ABI}"  # each Python has its own, because several may share a checkout
LIBRARY, DELEGATE = f"{FOLDER}.libneuralnetworks", f"{FOLDER}.libnnapi_delegate"
PTH = Path(
    "native/nnapi.pth"
)  # starts the drop-in replacement in processes with NNAPI_DROPIN; installed beside the package
# Before 2.34, dlopen is in libdl.so.2 of glibc; newer versions still have an empty library of that name.
LIBDL = ["-Wl,--no-as-needed", "-l:libdl.so.2"] if platform.libc_ver()[0] == "glibc" else ["-ldl"]

IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# cffi has no free-threaded Python before 3.14; there, the libraries for programs in C are not built.
if not IS_FREE_THREADED:
    CFFI = ["cffi>=1.17,<3"]
elif sys.version_info >= (3, 14):
    CFFI = ["cffi>=2,<3"]
else:
    CFFI = []
DEPENDENCIES = [
    "numpy>=2,<3",
    "blake3>=1,<2",
    "typer>=0.16,<0.29",  # 0.29 imports pydantic, which would take half the time of a short command
    "rich>=13",
    "jinja2>=3.1",
    "threadpoolctl>=3.5",
    *CFFI,
]
# The upper bound excludes untested releases, because nnapi uses private parts: the interpreter below its wrapper, and the
# structs of the profiler. The markers name the platforms with wheels; on others, only the devices of LiteRT are missing.
LITERT = [
    "ai-edge-litert>=2,<2.4; python_version < '3.15' and sys_platform == 'linux' and (platform_machine == 'x86_64' or platform_machine == 'aarch64')",
    "ai-edge-litert>=2,<2.4; python_version < '3.15' and sys_platform == 'darwin' and platform_machine == 'arm64'",
]
# Markers do not exclude a 32-bit Python on a 64-bit kernel, nor one on musl, nor one without the GIL, for which there are
# no wheels. A wheel of this package is for one ABI, so the build decides whether it depends on LiteRT.
LITERT_HAS_WHEELS = not IS_FREE_THREADED and ABI.endswith(("-x86_64-linux-gnu", "-aarch64-linux-gnu", "-darwin"))


def package_page():
    """Return README.md without links and pictures of the repository, which would be dead on the package's page."""
    text = (HERE / "README.md").read_text()
    text = re.sub(rf"^!\[[^]]*\]\({LOCAL}\)\n\n?", "", text, flags=re.MULTILINE)
    text = re.sub(rf" \(\[docs\]\({LOCAL}\)\)", "", text)
    return re.sub(rf"\[([^]]*)\]\({LOCAL}\)", r"\1", text)


class Build(build):
    """Builds in an empty folder. Else a wheel would also contain libraries and modules of an earlier build: of other
    sources, or of a time with a C compiler."""

    def run(self):
        base = Path(self.build_base).resolve()
        for folder in map(Path, (self.build_lib, self.build_temp)):
            if base in folder.resolve().parents:  # not a folder that the user chose
                shutil.rmtree(folder, ignore_errors=True)
        super().run()


class BuildPython(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            self.copy_file(str(PTH), self.build_lib)


class EditableWheel(editable_wheel):
    def run(self):
        super().run()
        for wheel in Path(self.dist_dir).glob("*.whl"):
            with ZipFile(wheel, "a") as file:
                file.write(PTH, PTH.name)


class BuildNative(build_ext):
    """Builds extension modules, shared libraries and the agent; only the names of the libraries and of the agent differ
    from those of extension modules."""

    def run(self):
        self.is_in_place = bool(self.inplace or self.editable_mode)  # setuptools clears the first while it builds
        super().run()
        if self.is_in_place:
            # pip compiles files that it copies, but not an editable source. Where bytecode cannot be written
            # (PYTHONDONTWRITEBYTECODE, missing permission), every process would compile it, for most of its start.
            compileall.compile_dir("src/nnapi", quiet=2)

    def get_ext_filename(self, fullname):
        if fullname.endswith(("nnapi-agent", "nnapi-agent-android")):
            return fullname.replace(".", "/")
        name = super().get_ext_filename(fullname)
        is_library = fullname.startswith(("lib", FOLDER))
        return name.removesuffix(sysconfig.get_config_var("EXT_SUFFIX")) + ".so" if is_library else name

    def get_export_symbols(self, ext):
        return []

    def build_extension(self, ext):
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        if ext.name == ANDROID_AGENT:
            from android import build

            build(path)
        elif ext.name == AGENT:
            self.build_program(ext, path)
        else:
            super().build_extension(ext)

    def build_program(self, ext, path):
        made = self.compiler.compile(
            ext.sources,
            output_dir=self.build_temp,
            include_dirs=ext.include_dirs,
            extra_postargs=ext.extra_compile_args,
        )
        self.compiler.link_executable(made, path.name, str(path.parent), extra_postargs=ext.extra_link_args)

    def copy_extensions_to_source(self):
        Path(self.get_finalized_command("build_py").get_package_dir(FOLDER)).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def build_extensions(self):
        compiler = self.compiler.compiler_so[0]
        if shutil.which(compiler) is None:
            self.warn(
                f"there is no C compiler {compiler}, so libneuralnetworks.so, the library for programs in C, "
                "is not built; the Python package works without it"
            )
            self.extensions = []
            return
        if not CFFI:
            self.extensions = [each for each in self.extensions if each.name not in (BRIDGE, LIBRARY, DELEGATE)]
            super().build_extensions()
            return
        from generate import bridge, entries, forward

        made = Path(self.build_temp)
        made.mkdir(parents=True, exist_ok=True)
        bridge().emit_c_code(str(made / "_bridge.c"))
        (made / "forward.h").write_text(forward())
        macros = {
            "NNAPI_ENTRIES": str(entries()),
            "NNAPI_BRIDGE": f'"../_bridge{sysconfig.get_config_var("EXT_SUFFIX")}"',
            "NNAPI_PYTHON_VERSION": f'"{sysconfig.get_python_version()}"',
            "NNAPI_PYTHON_ABIFLAGS": f'"{sys.abiflags}"',
            "NNAPI_LIBPYTHON": f'"libpython{sysconfig.get_config_var("LDVERSION")}.so.1.0"',
        }
        if self.is_in_place:
            macros["NNAPI_PYTHON_PATH"] = f'"{sys.executable}"'
        for extension in self.extensions:
            extension.include_dirs += [str(made), "native", "src/nnapi/capi/include"]
            if extension.name.startswith(FOLDER):
                extension.define_macros += list(macros.items())
            elif extension.name == BRIDGE:
                extension.sources = [str(made / "_bridge.c")]
                extension.define_macros += [("_CFFI_NO_LIMITED_API", "1")]  # it starts the interpreter
        # Do not put the library folder of the building Python into the rpath: the package may run elsewhere.
        self.compiler.linker_so = [word for word in self.compiler.linker_so if not word.startswith("-Wl,-rpath")]
        super().build_extensions()


def android_agents():
    from android import find_compiler

    return [Extension(ANDROID_AGENT, [], optional=True)] if find_compiler() else []


setup(
    long_description=package_page(),
    long_description_content_type="text/markdown",
    setup_requires=CFFI,  # not in pyproject.toml, because no marker can express it
    install_requires=DEPENDENCIES + (LITERT if LITERT_HAS_WHEELS else []),
    ext_modules=[
        Extension(BRIDGE, ["native/bridge.c"], optional=True),
        Extension("nnapi.cli._signals", ["native/signals.c"], optional=True, extra_link_args=[*LIBDL, "-pthread"]),
        Extension("nnapi.runtime._copies", ["native/copies.c"], optional=True),
        Extension(
            LIBRARY,
            ["native/library.c", "native/gate.c", "native/interpreter.c"],
            optional=True,
            extra_compile_args=["-fvisibility=hidden"],
            extra_link_args=["-Wl,-soname,libneuralnetworks.so", "-Wl,-z,nodelete", *LIBDL, "-pthread"],
        ),
        Extension(
            DELEGATE,
            ["native/delegate.c", "native/interpreter.c"],
            optional=True,
            extra_compile_args=["-fvisibility=hidden"],
            extra_link_args=["-Wl,-soname,libnnapi_delegate.so", "-Wl,-z,nodelete", *LIBDL],
        ),
        Extension(
            AGENT,
            sorted(map(str, Path("native/agent").glob("*.c"))),
            optional=True,
            extra_compile_args=["-std=gnu11", "-D_GNU_SOURCE", "-fPIE"],
            extra_link_args=["-pie", *LIBDL],
        ),
        *android_agents(),
    ],
    cmdclass={"build": Build, "build_ext": BuildNative, "build_py": BuildPython, "editable_wheel": EditableWheel},
)
