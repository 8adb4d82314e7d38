"""The system calls that the sandbox refuses: a seccomp filter, compiled by libseccomp.

Namespaces hide files, processes and the network; they do not limit the kernel's own interface. What the filter refuses
is memory that no resource limit counts, namespaces and mounts inside the sandbox, kernel objects that outlive it, and
interfaces where kernel faults are frequent and that a program under test has no use for.
"""

import ctypes
import ctypes.util
import errno
import functools
import os
import platform
from functools import partial
from itertools import starmap
from typing import Any

from assay.errors import SandboxUnavailable

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000  # the lower 16 bits are the error number
_GREATER, _EQUAL, _MASKED_EQUAL = 6, 4, 7  # enum scmp_compare
_UNKNOWN_CALL = -1  # __NR_SCMP_ERROR: this libseccomp has no call of that name

# Refused as if this kernel had none of them (ENOSYS), so a runtime that could use one falls back to what it did before.
_REFUSED = (
    # memory that belongs to no process, or outlives it
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl",
    "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "io_setup",
    # keyrings outlive the sandbox
    "add_key", "request_key", "keyctl",
    # namespaces and mounts; clone3 hides its flags in memory, where no filter sees them
    "clone3", "setns", "mount", "umount", "umount2", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "open_tree_attr", "mount_setattr", "name_to_handle_at", "open_by_handle_at",
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp",
    # wide interfaces to the kernel
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "fanotify_init",
    "fanotify_mark", "personality", "modify_ldt", "uselib", "vmsplice", "lookup_dcookie", "remap_file_pages",
    "mbind", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages", "move_pages",
    # the machine
    "acct", "adjtimex", "clock_adjtime", "clock_settime", "settimeofday", "stime", "delete_module", "init_module",
    "finit_module", "ioperm", "iopl", "kexec_load", "kexec_file_load", "nfsservctl", "quotactl", "quotactl_fd",
    "reboot", "swapon", "swapoff", "sysfs", "_sysctl", "syslog", "ustat", "vhangup",
)  # fmt: skip

_NAMESPACES = {
    "CLONE_NEWTIME": 0x00000080,
    "CLONE_NEWNS": 0x00020000,
    "CLONE_NEWCGROUP": 0x02000000,
    "CLONE_NEWUTS": 0x04000000,
    "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}
_SIGNAL_BITS = 0xFF  # of clone's flags: CLONE_NEWTIME lies among them and means something to unshare only
_UNIX, _INET, _INET6 = 1, 2, 10  # the socket families that stay; AF_VSOCK, for one, knows no network namespace
_INPUT_REQUESTS = (0x5412, 0x541C)  # ioctl TIOCSTI and TIOCLINUX write into a terminal as if somebody typed
_INT = 0xFFFFFFFF
_CLONE_FLAGS = 1 if platform.machine().startswith("s390") else 0  # which argument of clone holds them


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`: one argument of a system call, compared as 64 bits."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@functools.cache
def filter_program() -> bytes:
    """Return the filter as the BPF program that bubblewrap's `--seccomp` reads.

    Calls of another architecture than the interpreter's end the thread: their numbers mean other calls.

    Raises:
        SandboxUnavailable: libseccomp is not installed, or does not know this architecture.
    """
    library = _library()
    context = library.seccomp_init(_ALLOW)
    if not context:
        raise SandboxUnavailable("libseccomp does not know this machine's architecture: nothing was run")
    refuse = partial(_refuse, library, context)
    try:
        for call in _REFUSED:
            refuse(call, errno.ENOSYS)
        # A filter sees arguments of a call and not the memory behind them. The flags of clone and unshare are
        # arguments, so each is compared under its own mask; clone3 keeps them in memory and is refused whole, above.
        for flag in _NAMESPACES.values():
            refuse("unshare", errno.EPERM, (0, _MASKED_EQUAL, flag, flag))
            if flag & ~_SIGNAL_BITS:
                refuse("clone", errno.EPERM, (_CLONE_FLAGS, _MASKED_EQUAL, flag, flag))
        # libseccomp joins rules of one call by "or" and has no "not in": the families around the three that stay are
        # refused one by one, and all above the last of them at once
        for family in range(_INET6):
            if family not in {_UNIX, _INET}:
                refuse("socket", errno.EAFNOSUPPORT, (0, _EQUAL, family, 0))
        refuse("socket", errno.EAFNOSUPPORT, (0, _GREATER, _INET6, 0))
        for request in _INPUT_REQUESTS:
            refuse("ioctl", errno.EPERM, (1, _MASKED_EQUAL, _INT, request))
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _library() -> Any:  # noqa: ANN401  ctypes gives functions no types
    name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        raise SandboxUnavailable(
            "the sandbox needs libseccomp (package libseccomp2 or libseccomp), which is not installed: nothing was run"
        ) from None
    # without these declarations ctypes would cut a pointer to the 32 bits of an int
    pointer = library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    library.seccomp_release.argtypes = (pointer,)
    library.seccomp_export_bpf.argtypes = (pointer, ctypes.c_int)
    library.seccomp_syscall_resolve_name.argtypes = (ctypes.c_char_p,)
    comparisons = ctypes.POINTER(_Comparison)
    library.seccomp_rule_add_array.argtypes = (pointer, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, comparisons)
    return library


def _refuse(library: Any, context: int, call: str, error: int, *arguments: tuple[int, int, int, int]) -> None:  # noqa: ANN401
    """Add one rule; a call that this libseccomp or architecture does not have is passed over."""
    number = library.seccomp_syscall_resolve_name(call.encode())
    if number == _UNKNOWN_CALL:
        return
    comparisons = (_Comparison * len(arguments))(*starmap(_Comparison, arguments))
    failure = library.seccomp_rule_add_array(context, _REFUSE | error, number, len(arguments), comparisons)
    if failure:
        raise SandboxUnavailable(f"libseccomp refused the rule for {call} (error {-failure}): nothing was run")


def _exported(library: Any, context: int) -> bytes:  # noqa: ANN401
    reader, writer = os.pipe()  # a program has at most 4,096 instructions of 8 bytes: less than a pipe holds
    with os.fdopen(reader, "rb") as program:
        with os.fdopen(writer, "wb") as sink:
            failure = library.seccomp_export_bpf(context, sink.fileno())
        if failure:
            raise SandboxUnavailable(f"libseccomp did not write its filter (error {-failure}): nothing was run")
        return program.read()
