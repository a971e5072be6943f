// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanEnvironment } from "./clean-environment.ts";

test("a function gets what a program needs and none of our secrets", () => {
  const env = {
    PATH: "/bin",
    LANG: "de_DE.UTF-8",
    LC_ALL: "C",
    TZ: "UTC",
    TMPDIR: undefined,
    HOME: "/root",
    NODE_OPTIONS: "--inspect",
    AWS_SECRET_ACCESS_KEY: "x",
    KUBECONFIG: "/x",
  };
  assert.deepEqual(cleanEnvironment(env), { PATH: "/bin", LANG: "de_DE.UTF-8", LC_ALL: "C", TZ: "UTC" });
});
