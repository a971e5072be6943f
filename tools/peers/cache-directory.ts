// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";

/** Where peers are installed: inside the repository, ignored by git, safe to delete. */
export const cacheDirectory: string = join(import.meta.dirname, "..", "..", ".cache", "peers");
