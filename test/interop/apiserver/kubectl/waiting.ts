// SPDX-License-Identifier: Apache-2.0
import type { Script, Step } from "./step.ts";

const config = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, finalizers: [example.org/hold]}\ndata: {state: new}\n`;

const condition = (status: string): Step => ({
  run: `patch deployment web --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Available","status":"${status}","reason":"Because","message":"m","lastUpdateTime":null,"lastTransitionTime":null}]}}'`,
});

/** Waiting for conditions, fields and deletions, before and after they come true. */
export const waiting: Script = {
  name: "waiting",
  steps: [
    { run: "create namespace waiting" },
    { run: "create deployment web --image=web:1" },
    { run: "wait deployment web --for=condition=Available --timeout=1s" },
    { run: "wait deployment web --for=condition=Available --timeout=120s", meanwhile: { steps: [condition("True")] } },
    { run: "wait deployment web --for=condition=Available --timeout=120s" },
    {
      run: "wait deployment web --for=condition=Available=False --timeout=120s",
      meanwhile: { steps: [condition("False")] },
    },
    { run: "get deployment web -o jsonpath='{.status.conditions[0].type}={.status.conditions[0].status}'" },
    { run: "apply -f -", input: config("held") },
    {
      run: "wait cm held --for=jsonpath='{.data.state}'=done --timeout=120s",
      meanwhile: { steps: [{ run: 'patch cm held -p \'{"data":{"state":"done"}}\'' }] },
    },
    { run: "wait cm held --for=jsonpath='{.data.other}' --timeout=1s" },
    { run: "wait cm held --for=delete --timeout=1s" },
    {
      run: "delete cm held --timeout=120s",
      meanwhile: {
        after: 1,
        steps: [
          { run: "wait cm held --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=120s" },
          { run: "get cm held -o yaml" },
          {
            run: 'patch cm held --type=merge -p \'{"metadata":{"finalizers":["example.org/hold","example.org/more"]}}\'',
          },
          {
            run: "wait cm held --for=delete --timeout=120s",
            ignore: /condition met$/, // It may be gone before the command has looked.
            meanwhile: { steps: [{ run: 'patch cm held --type=merge -p \'{"metadata":{"finalizers":null}}\'' }] },
          },
        ],
      },
    },
    { run: "wait cm held --for=delete --timeout=120s" },
    { run: "wait cm held --for=condition=Ready --timeout=1s" },
    {
      run: "wait cm late --for=create --timeout=120s",
      meanwhile: { steps: [{ run: "create cm late" }] },
    },
    { run: "delete deployment web" },
  ],
};
