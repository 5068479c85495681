"""The group of processes that torchrun starts, and its end."""


def leave_processes() -> None:
    """Leave the group, if there is one.

    Its threads must not outlive the interpreter: now and then a process would end with "terminate called without an
    active exception", and torchrun would report a finished training as failed.
    """
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
