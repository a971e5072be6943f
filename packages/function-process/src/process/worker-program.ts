// SPDX-License-Identifier: Apache-2.0
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The program that serves one version of a function from a source file: `worker FILE FLAGS…`. Beside this file, with the
 * ending it has: source here, JavaScript once published.
 */
export const workerProgram: string = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));
