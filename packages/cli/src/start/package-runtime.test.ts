// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isUserError } from "../user-error.ts";
import { parsePackageRuntime } from "./start-services.ts";

const rows: Readonly<Record<string, { reason: string; text: string; Function: string; Provider: string }>> = {
  Deployment: { reason: "one mode is for all", text: "Deployment", Function: "Deployment", Provider: "Deployment" },
  External: { reason: "one mode is for all", text: "External", Function: "External", Provider: "External" },
  Both: {
    reason: "each kind has its own",
    text: "Provider=Deployment;Function=External",
    Function: "External",
    Provider: "Deployment",
  },
  One: {
    reason: "a kind that is not named runs in a Deployment",
    text: "Provider=External",
    Function: "Deployment",
    Provider: "External",
  },
  Configuration: {
    reason: "Crossplane takes a mode for Configurations, of which nothing runs",
    text: "Configuration=Deployment;Function=External",
    Function: "External",
    Provider: "Deployment",
  },
};
for (const [name, { reason, text, ...want }] of Object.entries(rows)) {
  test(`--package-runtime ${name}: ${reason}`, () => {
    assert.deepEqual(parsePackageRuntime(text), want);
  });
}

const refused: readonly { text: string; message: RegExp }[] = [
  { text: "", message: /not ""$/ },
  { text: "deployment", message: /not "deployment"$/ },
  { text: "Function", message: /not "Function"$/ },
  { text: "Configuration=Docker", message: /not "Configuration=Docker"$/ },
  { text: "Function=External;", message: /not ""$/ },
  { text: "Function=External=x", message: /not "Function=External=x"$/ },
  { text: "Function=External;Function=Deployment", message: /Function is named twice/ },
];
for (const { text, message } of refused) {
  test(`--package-runtime ${JSON.stringify(text)} is refused`, () => {
    assert.throws(
      () => parsePackageRuntime(text),
      (error: unknown) => {
        assert.ok(isUserError(error));
        assert.match(error.message, /^--package-runtime: expected Deployment, External, or one of them for a kind/);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}
