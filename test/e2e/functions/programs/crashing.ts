// SPDX-License-Identifier: Apache-2.0
// A function that dies in the middle of every call, without a word.
import { main } from "@purlin/function-sdk";

await main(() => {
  process.kill(process.pid, "SIGKILL");
  return new Promise<never>(() => {});
});
