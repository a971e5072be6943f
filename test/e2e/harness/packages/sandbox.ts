// SPDX-License-Identifier: Apache-2.0
// Functions of packages with bubblewrap and without. `npm run e2e -- --sandbox=none` runs a whole suite as on a machine without it.
import assert from "node:assert/strict";
import { findSandbox } from "@purlin/function-process";

/** One of the two ways in which this machine can run functions of packages. */
export interface SandboxMode {
  readonly title: string;
  readonly isSandboxed: boolean;
  /** The environment of `purlin up`. */
  readonly env: NodeJS.ProcessEnv;
  /** Why this way is left out of this run. */
  readonly skip: string | false;
}

const support = await findSandbox();
if (process.env["E2E_SANDBOX"] === "none") assert.equal(support.isSupported, false, "--sandbox=none hides bubblewrap");
else if (!support.isSupported) assert.equal(process.env["REQUIRE_SANDBOX"], undefined, support.reason);
const elsewhere = process.env["E2E_SERVER"] === "real" && "functions of a real API server are Deployments";

/** Both ways, for suites that run `purlin up` themselves. */
export const sandboxModes: readonly SandboxMode[] = [
  {
    title: "in a sandbox",
    isSandboxed: true,
    env: process.env,
    skip: elsewhere || (!support.isSupported && support.reason),
  },
  {
    title: "without a sandbox",
    isSandboxed: false,
    env: { ...process.env, PURLIN_SANDBOX: "none" },
    skip: elsewhere,
  },
];
