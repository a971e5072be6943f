// SPDX-License-Identifier: Apache-2.0
export { type Io, processIo, type TextSink } from "./io.ts";
export { run } from "./run.ts";
