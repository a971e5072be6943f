// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { TestIo } from "../../test/test-io.ts";
import type { Round } from "../function-call/call-command.ts";
import { createStyle } from "../terminal/style.ts";
import { renderOutcome } from "./render-scenario.ts";

const plain = createStyle(new TestIo().stdout, {});
const round = (request: object, response: object): Round => ({
  request: fromJson(RunFunctionRequest, request),
  response: fromJson(RunFunctionResponse, response),
});
const both = "TARGET_COMPOSITE_AND_CLAIM";

test("rounds, what the claim sees, what the composite sees, and what is applied, each only if there is something", () => {
  const requirements = { resources: { a: { apiVersion: "v1", kind: "Secret", matchName: "s" } } };
  const rounds = [
    round({}, { requirements }),
    round(
      { requiredResources: { a: {} } },
      {
        requirements,
        conditions: [{ type: "Ready2", status: "STATUS_CONDITION_FALSE", reason: "No", message: "why", target: both }],
        results: [
          { severity: "SEVERITY_NORMAL", message: "for all", target: both },
          { severity: "SEVERITY_WARNING", message: "for us" },
        ],
        desired: { resources: { x: { resource: { kind: "Pod" } } } },
      },
    ),
  ];
  assert.equal(
    renderOutcome({ response: rounds[1]?.response as RunFunctionResponse, rounds }, plain),
    `   round 1: the function asks for Secret "s"
   round 2: the runner has found no Secret "s"; the function answers

   What the claim's user sees:
     CONDITION  STATUS  REASON  MESSAGE
     Ready2     False   No      why

     EVENT   REASON            MESSAGE
     Normal  ComposeResources  for all

   What only the platform team sees:
     EVENT    REASON            MESSAGE
     Warning  ComposeResources  for us

   To be applied: Pod "x" (not ready yet).
`,
  );
});

test("a function without requirements and results takes three lines", () => {
  const only = round({}, {});
  assert.equal(
    renderOutcome({ response: only.response, rounds: [only] }, plain),
    "   round 1: the function answers\n\n   Nothing is to be applied.\n",
  );
});
