// SPDX-License-Identifier: Apache-2.0
// Loaded into a program before anything else: SIGUSR2 sets its clock by $SET_CLOCK_DAYS, forward or back; with $SET_CLOCK_AT_START it
// starts at that time. Timers continue, as they do on a real machine.
import process from "node:process";

const RealDate = Date;
const wantedMs = Number(process.env["SET_CLOCK_DAYS"] ?? 0) * 86_400_000;
let shiftMs = process.env["SET_CLOCK_AT_START"] === "yes" ? wantedMs : 0;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + shiftMs);
    else super(...args);
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
};

process.on("SIGUSR2", () => {
  shiftMs = wantedMs;
});
