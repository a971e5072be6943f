// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanEnvironment, withCompileCache } from "./clean-environment.ts";

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

test("a source file shares the compile cache of the control plane, if there is one", () => {
  const env = { PATH: "/bin" };
  assert.deepEqual(withCompileCache(env, "/home/me/.cache/purlin/compiled/v26.0.0-x64-0"), {
    PATH: "/bin",
    NODE_COMPILE_CACHE: "/home/me/.cache/purlin/compiled",
  });
  assert.deepEqual(withCompileCache(env, undefined), env);
});
