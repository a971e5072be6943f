// SPDX-License-Identifier: Apache-2.0
// Looks for the sandbox of the configuration that it is started in, runs the function of an image, and
// prints the answers as JSON: configuration-probe ROOT
import { findSandbox } from "@purlin/function-process";
import { runImage } from "./sandboxed-function.ts";

const support = await findSandbox();
const loot = await runImage(process.argv[2] ?? "", support);
process.stdout.write(JSON.stringify({ support, ...loot }));
