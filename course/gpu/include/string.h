// memcpy and memset are built into the device compiler.
#pragma once
