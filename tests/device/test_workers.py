"""Workers: results, errors, crashes of one job among many, interrupts, and the end of the interpreter."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from device import samples
from tilewright.device.module import DeviceError
from tilewright.device.nvvm import compile_ir
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

PATHS = os.pathsep.join(str(Path(__file__).resolve().parents[2] / folder) for folder in ("tools", "tests"))


def test_jobs_run_in_another_process_that_sits_in_the_root_folder(workers: Workers) -> None:
    folder, process = workers.run(samples.where_am_i)
    assert folder == "/"
    assert process != os.getpid()


def test_an_unused_pool_starts_no_process() -> None:
    with Workers(2) as pool:
        assert pool._context.started == []


def test_default_size_is_the_number_of_cpus() -> None:
    assert Workers().size == os.cpu_count()


def test_problems_come_back_whole(workers: Workers) -> None:
    with pytest.raises(DeviceError) as caught:
        workers.run(samples.refuse, "no good")
    assert str(caught.value) == "a/k.cu:3: error: no good"


def test_a_worker_imports_no_compiler_binding_until_a_job_asks() -> None:
    with Workers(1) as pool:
        assert pool.run(samples.modules_named, "llvmlite", "cuda", "SCons", "numpy", "ctypes") == []


def test_many_threads_share_the_pool(workers: Workers) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda number: workers.run(samples.plus_one, number), range(40))) == list(range(1, 41))


def test_a_crash_is_reported_for_the_job_that_crashes_alone_and_no_other() -> None:
    def job(number: int) -> int | str:
        if number not in (2, 5):
            return pool.run(samples.plus_one, number)
        with pytest.raises(DeviceError) as caught:
            pool.run(samples.crash, samples.Named(f"a/{number}.cu"))
        return str(caught.value)

    with Workers(2) as pool, ThreadPoolExecutor(8) as threads:
        results = list(threads.map(job, range(12)))
        assert pool.run(samples.plus_one, 1) == 2, "the pool must be good again"
    assert [result for result in results if isinstance(result, int)] == [1, 2, 4, 5, 7, 8, 9, 10, 11, 12]
    for number in (2, 5):
        said = str(results[number])
        assert said.startswith(f"a/{number}.cu: error: Dying on purpose: the worker process was killed by SIGSEGV")
        assert "hint: the native tool does not survive this input" in said


def test_a_job_that_leaves_names_its_exit_code() -> None:
    with Workers(1) as pool, pytest.raises(DeviceError, match="leave: the worker process ended with exit code 7"):
        pool.run(samples.leave, 7)


def test_a_result_that_cannot_travel_is_an_error_and_no_hang(workers: Workers) -> None:
    with pytest.raises(Exception, match="pickle"):
        workers.run(samples.unpicklable)


def test_a_real_crash_of_libnvvm_is_one_problem_beside_good_jobs(toolkit: Toolkit) -> None:
    nvvm, libdevice = (str(toolkit.require(name).path) for name in ("nvvm", "libdevice"))
    good = samples.relu_ir()
    without_layout = samples.DeviceModule("nvvm", good.text.split("\n", 1)[1], "a/bad.ll")

    def job(number: int) -> bytes | str:
        if number != 1:
            return pool.run(compile_ir, good, "compute_120", nvvm, libdevice)
        with pytest.raises(DeviceError) as caught:
            pool.run(compile_ir, without_layout, "compute_120", nvvm, libdevice)
        return str(caught.value)

    with Workers(2) as pool, ThreadPoolExecutor(4) as threads:
        results = list(threads.map(job, range(4)))
    assert "a/bad.ll: error: NVVM IR to LTOIR by libNVVM" in str(results[1])
    assert re.search(r"the worker process was killed by SIG(SEGV|ABRT)\b", str(results[1]))
    assert results[0] == results[2] == results[3]


def test_a_closed_pool_refuses_new_work() -> None:
    pool = Workers(1)
    pool.close()
    with pytest.raises(DeviceError, match="the build was stopped"):
        pool.run(samples.plus_one, 1)


def test_closing_does_not_wait_for_a_job_that_hangs(tmp_path: Path) -> None:
    pool = Workers(1)
    started = tmp_path / "started"
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(pool.run, samples.wait_for, str(started)) for _ in range(4)]
        wait_until(started)
        before = time.monotonic()
        pool.close()
        for job in waiting:
            with pytest.raises(DeviceError, match="the build was stopped"):
                job.result(timeout=20)
    assert time.monotonic() - before < 20


def test_a_script_without_a_guard_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from device import samples\nfrom tilewright.device.workers import Workers\n"
        "print('script runs')\n"
        "with Workers(1) as pool:\n    print(pool.run(samples.main_module_file))\n    print(__spec__)\n"
        "    try:\n        pool.run(samples.crash, samples.Named('k'))\n    except Exception:\n        print('crash')\n"
    )
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "script runs"
    assert lines[1:] == [lines[1], "None", "crash"]
    assert str(script) not in lines[1]


def test_workers_find_the_package_after_its_folder_left_the_path(tmp_path: Path) -> None:
    script = tmp_path / "taken_back.py"
    script.write_text(
        "import sys\nfrom device import samples\nfrom tilewright.device.workers import Workers\n"
        "sys.path[:] = [folder for folder in sys.path if not folder.endswith('tools')]\nbefore = list(sys.path)\n"
        "with Workers(1) as pool:\n    print(pool.run(samples.plus_one, 1), sys.path == before)\n"
    )
    done = run_script(script)
    assert (done.returncode, done.stdout) == (0, "2 True\n"), done.stderr


def test_files_of_the_working_folder_do_not_pass_for_modules_of_python(tmp_path: Path) -> None:
    """Neither in the pool, nor in the process of a job that runs alone, nor in the tracker of resources."""
    script, folder = tmp_path / "script.py", tmp_path / "project"
    folder.mkdir()
    for name in ("pickle", "socket", "struct"):
        (folder / f"{name}.py").write_text("raise RuntimeError('a file of the user')\n")
    script.write_text(
        "from device import samples\nfrom tilewright.device.workers import Workers\n"
        "with Workers(1) as pool:\n    print(pool.run(samples.plus_one, 1))\n"
        "    try:\n        pool.run(samples.crash, samples.Named('k'))\n"
        "    except Exception as error:\n        print('the worker process was killed' in str(error))\n"
    )
    done = run_script(script, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\nTrue\n", "")


def test_ctrl_c_stops_the_parent_at_once_and_no_worker_stays_or_speaks(tmp_path: Path) -> None:
    started, script = tmp_path / "started", tmp_path / "waits.py"
    script.write_text(
        "import sys\nfrom device import samples\nfrom tilewright.device.workers import Workers\n"
        f"pool = Workers(2)\nprint(pool.run(samples.where_am_i)[1], flush=True)\n"
        f"try:\n    pool.run(samples.wait_for, {str(started)!r})\n"
        "except KeyboardInterrupt:\n    sys.exit(3)\n"
    )
    process = start_script(script)
    wait_until(started)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (3, "")
    assert is_gone(int(out))


def test_a_parent_that_goes_on_after_ctrl_c_loses_a_hanging_job_by_the_second(tmp_path: Path) -> None:
    started, script = tmp_path / "started", tmp_path / "goes_on.py"
    script.write_text(
        "import signal\nfrom device import samples\nfrom tilewright.device.workers import Workers\n"
        "signal.signal(signal.SIGINT, lambda *_: print('heard', flush=True))\n"
        f"pool = Workers(2)\ntry:\n    pool.run(samples.wait_for, {str(started)!r})\n"
        "except Exception as error:\n    print(error, flush=True)\nprint(pool.run(samples.plus_one, 1))\n"
    )
    process = start_script(script)
    wait_until(started)
    os.killpg(process.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    stopped = "error: the build was stopped before this step finished"
    assert (out.splitlines(), err) == (["heard", "heard", stopped, "2"], "")


def test_the_interpreter_ends_while_a_thread_waits_for_a_job_that_hangs(tmp_path: Path) -> None:
    started, script = tmp_path / "started", tmp_path / "leaves.py"
    script.write_text(
        "import pathlib, threading, time\nfrom device import samples\nfrom tilewright.device.workers import Workers\n"
        "pool = Workers(1)\nprint(pool.run(samples.where_am_i)[1], flush=True)\n"
        "def wait():\n    try:\n        pool.run(samples.wait_for, "
        f"{str(started)!r})\n    except Exception:\n        pass\n"
        "threading.Thread(target=wait, daemon=True).start()\n"
        f"while not pathlib.Path({str(started)!r}).exists():\n    time.sleep(0.01)\n"
    )
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert is_gone(int(done.stdout))


def test_workers_leave_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        "import time\nfrom device import samples\nfrom tilewright.device.workers import Workers\n"
        "pool = Workers(1)\nprint(pool.run(samples.where_am_i)[1], flush=True)\ntime.sleep(60)\n"
    )
    process = start_script(script)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=20)
    assert is_gone(worker)


def run_script(script: Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def start_script(script: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": PATHS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(path: Path, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(0.01)


def is_gone(process: int, seconds: float = 10) -> bool:
    """Whether the process ended (a zombie has ended too) before the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
