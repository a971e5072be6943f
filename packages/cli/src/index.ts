// SPDX-License-Identifier: Apache-2.0
export type { Io, TextSink } from "./io.ts";
export { run } from "./run.ts";
