// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { extname } from "node:path";

/** The program that opens sockets in a private network, as a text of JavaScript; beside this file, with the ending it has. */
export const connectorProgram: string = readFileSync(
  new URL(`./connector${extname(import.meta.url)}`, import.meta.url),
  "utf8",
);
