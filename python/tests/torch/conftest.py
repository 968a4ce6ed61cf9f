"""One thread for all: the tensors of these tests are small, and threads would only wait for each
other. Processes that tests start inherit it.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"
