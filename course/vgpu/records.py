"""The state of a launch, a block and a warp, as native code and Python both see it."""

from .native import Array, Struct, i32, i64, u8, u16, u32, u64  # noqa: F401

LANES = 32
FULL = 0xFFFFFFFF

# Where the state spaces lie in the 64-bit generic address space.
SHARED_WINDOW = 0x0100_0000_0000
LOCAL_WINDOW = 0x0180_0000_0000
GLOBAL_BASE = 0x0200_0000_0000
WINDOW_BYTES = 1 << 24

# Shadow byte of each byte of memory.
ALLOCATED, DEFINED, READ_ONLY, TOUCHED_LOAD, TOUCHED_STORE = 1, 2, 4, 8, 16

# State spaces in a Site.
GLOBAL, SHARED, LOCAL, GENERIC = 0, 1, 2, 3

# What a warp or a stretch of blocks says when it stops running.
DONE, AT_BARRIER, YIELD, FAULT, TO_MASKED, TO_FAST, MORE = range(7)

# Kinds of fault.
(
    NO_FAULT, OUT_OF_BOUNDS, MISALIGNED, UNDEFINED, WRITES_CONSTANT, DIVERGENT_BARRIER, BAD_MASK,
    INACTIVE_LANE, TRAP, ASSERTION, BARRIER_COUNT, WRONG_SPACE, RACE, ENDLESS, DEADLOCK,
) = range(15)  # fmt: skip

# Launch.flags
COUNTING, RACES = 1, 2

#: Bytes between the components of a vector operand in Warp.data (32 lanes of up to 8 bytes).
COMPONENT = 256
#: Where the value of a ``match`` lies in Warp.met, counted in 64-bit words.
MATCHED = 3 * COMPONENT // 8


class Site(Struct):
    """A memory, barrier or warp instruction as the runtime needs it."""

    space: u32
    size: u32  # bytes of one component
    count: u32  # components a lane
    op: u32  # what an atomic does
    kind: u32  # how an atomic reads its bits
    store: u32  # 1 if memory is written, 2 for an atomic
    scope: u32  # of an atomic, volatile or ordered access: 1 the block, 2 the device; else 0
    releases: u32  # 1 if it orders what came before it, as after a fence
    base: u32  # 1 + the row of Launch.bounds that the address must keep to; 0 if that is unknown


class Probe(Struct):
    """What is counted at one Site."""

    requests: u64
    lanes: u64
    bytes: u64
    sectors: u64
    wavefronts: u64
    ideal: u64
    sample: Array(u64, 32)  # addresses of the first request: an example to draw
    sample_mask: u32
    sample_space: u32


class Launch(Struct):
    """What all blocks of a launch share."""

    arena: u64  # host address of the first byte of global memory
    shadow: u64  # host address of its shadow
    arena_size: u64
    params: u64
    sites: u64
    fast: u64  # address of the fast version of the kernel, 0 if there is none
    masked: u64
    conversions: u64  # table of registers to convert between the two versions
    conversion_starts: u64
    clock: u64
    serial: u64  # blocks started
    grid: Array(u32, 3)
    block: Array(u32, 3)
    warps: u32
    threads: u32
    shared_size: u32
    local_size: u32
    record_bytes: u32
    flags: u32
    schedule: u32
    slice: i32  # instructions in loops before a warp gives way
    open: u32  # places in which blocks run, and
    most: u32  # how many there may be
    places: u64  # table of their Cta records
    following: u64  # the next block to start, and
    last: u64  # the one before which to end
    work: u64  # done since the host last looked, in instructions
    pace: u64  # work after which the host looks
    progress: u64  # warps and barriers that have come to an end
    dynamic_shared: u32
    static_shared: u32
    blocks: u32
    warp_base: u32  # bytes before the registers in a warp's record
    symbols: u64  # addresses of the module's variables
    params_address: u64
    bounds: u64  # begin and size of the arrays that parameters point at
    workspace: u64  # where a cooperative grid synchronises
    log: u64
    log_size: u64
    log_used: u64
    random: u64
    faulty: u64  # the Cta that faulted
    races: u64


class Race(Struct):
    """Two accesses that nothing orders.

    `kind`: 0 read after write, 1 write after write, 2 atomic after write, 3 two lanes at once,
    4 write after read.
    """

    address: u64
    kind: u32
    site: u32
    other_site: u32
    block: u32
    warp: u32
    lane: u32
    other_block: u32
    other_warp: u32
    other_lane: u32
    count: u32


class Races(Struct):
    """What the race detector knows of a launch."""

    cells: u64  # GlobalCell for each unit of global memory
    place: u64  # SyncPlace records: what blocks tell each other
    report: u64
    agents: u32  # warps of the grid
    unit: u32  # bytes that one cell stands for: 4, or 1 if a kernel accesses less
    cell_bytes: u32  # of a SharedCell and the reads behind it
    places: u32  # 1 if any place is used
    most_places: u32  # a power of two
    place_bytes: u32
    reports: u32
    most_reports: u32
    found: u64


class RaceBlock(Struct):
    """What the race detector knows of a block: arrays, one behind the other."""

    cells: u64  # SharedCell for each unit of shared memory
    clocks: u64  # 32 x 32: what each warp knows of each warp
    fences: u64  # 2 x 32 x 32: the same at each warp's last fence, of the block and of the device
    barriers: u64  # 16 x 3 x 32: what was known, and fenced, by those who arrived
    seen: u64  # 32 x 32: up to which clock a lane knows what others of its warp did
    pairs: u64  # 32 x 32 for each warp: up to which clock a lane knows what another did
    known: u64  # what the block knows of all warps of the grid
    place: u64  # SyncPlace records: what its warps tell each other
    bytes: u64  # of all these arrays
    places: u32
    most_places: u32
    place_bytes: u32
    step: u32


class SharedCell(Struct):
    """The last write to a unit of shared memory.

    Behind it lies, for each warp, its last read: clock, site, lane, scope.
    """

    clock: u32  # 0: nobody has written
    warp: u32
    lane: u32
    site: u32
    step: u32
    scope: u32


class GlobalCell(Struct):
    """The last write to a unit of global memory, and two reads: clock, agent, lane, site, scope.

    An agent is a warp's number in the grid.
    """

    clock: u32
    agent: u32
    lane: u32
    site: u32
    step: u32
    scope: u32
    reads: Array(u32, 10)


class SyncPlace(Struct):
    """An address that atomics use; behind it the clocks that were published there."""

    address: u64


class Cta(Struct):
    """A block (cooperative thread array) while it runs."""

    launch: u64
    shared: u64
    shared_shadow: u64
    warps: u64
    local: u64
    local_shadow: u64
    counts: u64
    probe: u64
    races: u64
    index: Array(u32, 3)
    linear: u32
    arrived: Array(u32, 16)  # threads waiting at each named barrier
    expected: Array(u32, 16)  # threads it waits for; 0 for all of the block
    reduced: Array(u32, 16)
    fault: u32
    fault_warp: u32
    fault_record: u64
    alive: u32
    running: u32
    random: u32
    spun: u32  # whether the last warp that ran has used up its turn in a loop


class Warp(Struct):
    """A warp: its lanes' program counters, its operands in flight, and then its registers."""

    launch: u64
    cta: u64
    shared: u64
    shared_shadow: u64
    local: u64
    local_shadow: u64
    counts: u64
    index: u32
    live: u32  # lanes that have not exited
    mask: u32  # lanes that run now
    pend: u32  # lowest block at which other lanes wait
    prefer: u32  # dispatch looks for lanes from this block on first
    resume: u32
    state: u32
    fast: u32
    fast_exists: u32
    fast_allowed: u32
    poisoned: u32
    budget: i32
    waiting: u32  # lanes that wait at a barrier
    counted: u32  # those of them that the barrier has counted; the rest wait for their warp
    scattered: u32  # whether they may be at several barriers: then barrier_of tells
    barrier: u32
    barrier_site: u32
    barrier_kind: u32
    barrier_count: u32
    barrier_lanes: u32  # predicates of a barrier that reduces
    barrier_how: u32
    barrier_result: u32
    syncing: u32  # lanes that wait for others of their warp (lanes.py)
    met_votes: u32
    met_poison: u32
    met_truth: u32
    spoiled: u32  # lanes whose result is undefined
    convert: u32
    fault: u32
    fault_site: u32
    fault_mask: u32
    fault_poison: u32
    flags: u32
    tired: u32  # whether it has had a full turn, and others come first
    predicate: u32
    pc: Array(u32, 32)
    barrier_of: Array(u32, 32)
    sync_mask: Array(u32, 32)  # whom each lane waits for
    sync_op: Array(u32, 32)
    sync_site: Array(u32, 32)
    met_result: Array(u32, 32)
    tid: Array(u32, 96)  # x of all lanes, then y, then z
    origin_site: Array(u32, 32)  # where a lane last loaded something undefined
    origin_address: Array(u64, 32)
    poison: Array(u32, 32)  # lanes in which each byte of an operand is undefined
    address: Array(u64, 32)
    host: Array(u64, 32)
    shade: Array(u64, 32)
    scratch: Array(u64, 132)
    met: Array(u64, 128)  # operands of lanes that wait: three components, and one for a match
    data: Array(u64, 512)  # up to 16 components of 256 bytes
