// assert is built into the device compiler.
#pragma once
