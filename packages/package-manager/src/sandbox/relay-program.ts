// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { extname } from "node:path";

/** The program that joins a private network with a Unix socket, as a text of JavaScript; beside this file, with the ending it has. */
export const relayProgram: string = readFileSync(
  new URL(`./relay${extname(import.meta.url)}`, import.meta.url),
  "utf8",
);
