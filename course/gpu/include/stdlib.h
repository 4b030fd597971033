// malloc, free and abs are built into the device compiler.
#pragma once
