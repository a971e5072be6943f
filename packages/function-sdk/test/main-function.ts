// SPDX-License-Identifier: Apache-2.0
// A function as a program of its own, for the tests of `main`. A call with an input waits for a line on standard input.
import { once } from "node:events";
import process from "node:process";
import { main } from "../src/index.ts";

await main(
  async (req, ctx) => {
    if (req.input !== undefined) {
      process.stdout.write("entered\n");
      await once(process.stdin, "data");
    }
    return ctx.to(req);
  },
  {
    flags: { greeting: { value: "TEXT", help: "What to say", env: "GREETING", default: "hello" } },
    onFlags: ({ greeting }) => process.stdout.write(`greeting ${greeting}\n`),
    onReady: ({ address }) => process.stdout.write(`ready ${address}\n`),
  },
);
