// SPDX-License-Identifier: Apache-2.0
// How workloads replace their Pods. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FieldError } from "@purlin/kube-objects/errors";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  amountErrors,
  atMostAll,
  daemonStrategyErrors,
  deploymentStrategyErrors,
  statefulStrategyErrors,
} from "./rolling-update.ts";

const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

const amounts: readonly (readonly [value: JsonValue, want: readonly string[]])[] = [
  [0, []],
  ["0%", []],
  ["250%", []],
  [-1, ["p.n: Invalid value: -1: must be greater than or equal to 0"]],
  ["5", [`p.n: Invalid value: "5": ${percentText}`]],
  ["-5%", [`p.n: Invalid value: "-5%": ${percentText}`]],
  ["5 %", [`p.n: Invalid value: "5 %": ${percentText}`]],
  ["", [`p.n: Invalid value: "": ${percentText}`]],
];

for (const [n, want] of amounts) {
  test(`a number of Pods or a percentage: ${JSON.stringify(n)}`, () => {
    assert.deepEqual(amountErrors({ n }, "n", "p").map(fieldErrorText), want);
  });
}

test("a percentage is at most 100", () => {
  const errors = (n: JsonValue): string[] => atMostAll({ n }, "n", "p").map(fieldErrorText);
  assert.deepEqual([errors("100%"), errors(1000), errors("x")], [[], [], []]);
  assert.deepEqual(errors("101%"), ['p.n: Invalid value: "101%": must not be greater than 100%']);
});

type Case = readonly [name: string, strategy: JsonObject, want: readonly string[]];
const rolling = (rollingUpdate: JsonObject): JsonObject => ({ type: "RollingUpdate", rollingUpdate });

function cases(
  title: string,
  check: (object: JsonObject) => readonly FieldError[],
  member: string,
  list: readonly Case[],
): void {
  for (const [name, strategy, want] of list) {
    test(`${title}: ${name}`, () => {
      const errors = check({ spec: { [member]: strategy } }).map(fieldErrorText);
      assert.deepEqual(
        errors.map((text) => text.replace(`spec.${member}`, "s")),
        want,
      );
    });
  }
}

const stuck = (value: string): string =>
  `s.rollingUpdate.maxUnavailable: Invalid value: ${value}: may not be 0 when \`maxSurge\` is 0`;

cases("a Deployment", deploymentStrategyErrors, "strategy", [
  ["all at once", { type: "Recreate" }, []],
  [
    "all at once with steps",
    { type: "Recreate", rollingUpdate: {} },
    ["s.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  ["step by step", rolling({ maxUnavailable: "25%", maxSurge: 1 }), []],
  ["steps left out", { type: "RollingUpdate" }, []],
  ["steps of nothing", rolling({ maxUnavailable: "0%", maxSurge: 0 }), [stuck('"0%"')]],
  ["steps without amounts", rolling({}), [stuck("0")]],
  ["a step that adds Pods only", rolling({ maxUnavailable: 0, maxSurge: "1%" }), []],
  [
    "more than all",
    rolling({ maxUnavailable: "101%" }),
    ['s.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  ],
  ["twice as many", rolling({ maxUnavailable: 0, maxSurge: "200%" }), []],
  [
    "invalid amounts",
    rolling({ maxUnavailable: "x", maxSurge: -1 }),
    [
      `s.rollingUpdate.maxUnavailable: Invalid value: "x": ${percentText}`,
      "s.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0",
    ],
  ],
  [
    "no way",
    {},
    ['s: Unsupported value: {"Type":"","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'],
  ],
  [
    "an unknown way",
    { type: "x", rollingUpdate: { maxSurge: "1%" } },
    [
      's: Unsupported value: {"Type":"x","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"1%"}}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
]);

cases("a DaemonSet", daemonStrategyErrors, "updateStrategy", [
  ["when Pods are deleted", { type: "OnDelete" }, []],
  ["step by step", rolling({ maxUnavailable: 1, maxSurge: 0 }), []],
  ["new Pods first", rolling({ maxUnavailable: 0, maxSurge: "100%" }), []],
  [
    "both",
    rolling({ maxUnavailable: 1, maxSurge: 1 }),
    ["s.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"],
  ],
  [
    "neither",
    rolling({ maxUnavailable: "0%", maxSurge: 0 }),
    ["s.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
  ],
  [
    "more than all",
    rolling({ maxUnavailable: 0, maxSurge: "101%" }),
    ['s.rollingUpdate.maxSurge: Invalid value: "101%": must not be greater than 100%'],
  ],
  [
    "an unknown way",
    { type: "x" },
    ['s: Unsupported value: {"Type":"x","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"'],
  ],
]);

cases("a StatefulSet", statefulStrategyErrors, "updateStrategy", [
  ["when Pods are deleted", { type: "OnDelete" }, []],
  [
    "when Pods are deleted, with steps",
    { type: "OnDelete", rollingUpdate: { partition: 2 } },
    [
      `s.rollingUpdate: Invalid value: {"Partition":2,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'`,
    ],
  ],
  ["from a number on", rolling({ partition: 2 }), []],
  ["steps left out", { type: "RollingUpdate" }, []],
  [
    "from a negative number on",
    rolling({ partition: -1 }),
    ["s.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "an unknown way",
    { type: "x", rollingUpdate: {} },
    [
      `s: Invalid value: {"Type":"x","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}: must be 'RollingUpdate' or 'OnDelete'`,
    ],
  ],
  ["no way", {}, [`s: Invalid value: {"Type":"","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`]],
]);
