// SPDX-License-Identifier: Apache-2.0
// Serves the function with the flags every composition function has: `node src/main.ts --insecure`.
import { main } from "@purlin/function-sdk";
import { fn } from "./function.ts";

await main(fn);
