// Is every part of the L2 cache equally near to every multiprocessor?
//
// Idea: the L2 cache has two halves with a crossbar between them, and an address belongs to one of
// them. One multiprocessor at a time loads each of `lines` lines again and again, past its L1, and
// notes the mean cycles: those of the far half take longer.
// Shapes: as many blocks as multiprocessors, one thread each, with so much shared memory that no two
// share one; `lines` places, 32 elements (128 bytes) apart; `cycles` has a row for each multiprocessor.
// Hazard: whether all multiprocessors get a block is up to the hardware; rows of others stay as they were.

__global__ void distances(const unsigned* zeros, int lines, int repeats, int chosen, float* cycles) {
    unsigned self;
    asm volatile("mov.u32 %0, %smid;" : "=r"(self));
    if (self != chosen) return;
    for (int line = 0; line < lines; line++) {
        const unsigned* place = zeros + 32 * line;
        unsigned at = 0;
        long long begin = 0;
        for (int i = -2; i < repeats; i++) {  // the first two bring the line into L2
            if (i == 0) begin = clock64();
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(place + at));
        }
        cycles[chosen * lines + line] = float(clock64() - begin) / repeats + at;
    }
}
