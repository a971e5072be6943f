// SPDX-License-Identifier: Apache-2.0
// Probes whether the function at an address is ready, as a control plane does: probing ADDRESS CA CERT KEY
// It prints the most memory it ever had, in MiB.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { untilItAnswers } from "../../../packages/function-process/src/process/function-port.ts";

const [address = "", ...files] = process.argv.slice(2);
const [ca = "", cert = "", key = ""] = files.map((file) => readFileSync(file, "utf8"));
// It goes on until a function is ready, which this one never is.
await untilItAnswers({
  address,
  tls: createSecureContext({ ca, cert, key }),
  signal: AbortSignal.timeout(6_000),
}).catch(() => {});
const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
console.log(Number(kibibytes) / 1024);
