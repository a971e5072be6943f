// SPDX-License-Identifier: Apache-2.0
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** The program that joins a private network with a Unix socket; beside this file, with the ending it has. */
export const relayProgram: string = fileURLToPath(new URL(`./relay${extname(import.meta.url)}`, import.meta.url));
