"""A device for tests that have no GPU."""

from course.gpu.devices import Device, Limits

H100 = Limits(
    threads_per_block=1024,
    block=(1024, 1024, 64),
    grid=(2**31 - 1, 65535, 65535),
    shared_per_block=232_448,
)


class Recorder(Device):
    """A device that notes what it is asked to run, and can do the kernel's work in NumPy."""

    kind = "virtual"
    name = "Recorder"
    arch = "sm_90a"
    image = "ptx"
    limits = H100

    def __init__(self, work=None):
        self.calls = []
        self.work = work

    def launch(self, image, entry, grid, block, shared, buffers, cooperative=False, instance=0):
        self.calls.append((image, entry, grid, block, shared, list(buffers)))
        if self.work:
            self.work(*buffers)

    @property
    def buffers(self):
        return self.calls[-1][-1]
