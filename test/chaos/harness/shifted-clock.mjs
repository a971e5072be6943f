// SPDX-License-Identifier: Apache-2.0
// Loaded into a server before anything else: every SIGUSR2 sets its clock back by a day. Timers continue, as they do on a real machine.
import process from "node:process";

const RealDate = Date;
let shiftMs = 0;

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
  shiftMs -= 86_400_000;
});
