// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";

/**
 * The launcher that tests start. A whole suite runs the command as it is published; a selected file runs the sources, so that stack traces
 * show them. `npm run SUITE -- --command=FILE` names another launcher.
 */
export const purlinCommand: string =
  process.env["TEST_COMMAND"] ?? fileURLToPath(new URL("../bin/purlin.js", import.meta.url));
