// SPDX-License-Identifier: Apache-2.0
import type { Script } from "./step.ts";

const label = "--selector=watched=yes";
const changes = [
  {
    run: "create -f -",
    input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {watched: 'yes'}}\ndata: {x: '1'}\n",
  },
  { run: 'patch cm a -p \'{"data":{"x":"1","y":"2"}}\'' },
  { run: "label cm a watched-" },
  { run: "label cm b watched=no --overwrite" },
  { run: "label cm a watched=yes" },
  { run: "delete cm a" },
] as const;
const setup = {
  run: "create -f -",
  input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {watched: 'yes'}}\n",
} as const;

/** Watches as a person follows them. */
export const watching: Script = {
  name: "watching",
  steps: [
    { run: "create namespace watching" },
    setup,
    { run: `get cm ${label} --watch`, meanwhile: { after: 2, steps: changes, lines: 8 } },
    { run: "delete cm b" },
    setup,
    { run: `get cm ${label} --watch --output-watch-events`, meanwhile: { after: 2, steps: changes, lines: 8 } },
    { run: "delete cm b" },
    setup,
    {
      run: "get cm a --watch -o jsonpath='{.metadata.name} {.data.x}{\"\\n\"}'",
      meanwhile: {
        after: 1,
        steps: [{ run: 'patch cm a -p \'{"data":{"x":"1"}}\'' }, { run: 'patch cm a -p \'{"data":{"x":"2"}}\'' }],
        lines: 3,
      },
    },
    { run: "delete cm a" },
  ],
};
