// SPDX-License-Identifier: Apache-2.0
import type { Kept, Script, Step } from "./step.ts";

const child = (name: string, { owner = "" }: Kept, block = false): string => `
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: "${owner}", blockOwnerDeletion: ${block}}]
`;

const owner = [{ run: "create cm owner" }, { run: "get cm owner -o jsonpath={.metadata.uid}", keep: "owner" }];

/** Whether it still has to wait depends on which is faster. */
const gone = (what: string): Step => ({ run: `wait ${what} --for=delete --timeout=120s`, ignore: /condition met$/ });

/** Deleting owners and what they own, and whole namespaces. */
export const deletion: Script = {
  name: "deletion",
  steps: [
    { run: "create namespace deletion" },
    ...owner,
    { run: "create -f -", input: (kept) => child("child", kept) },
    { run: "delete cm owner" },
    gone("cm child"),
    ...owner,
    { run: "create -f -", input: (kept) => child("child", kept, true) },
    { run: "delete cm owner --cascade=foreground --timeout=120s" },
    { run: "get cm child" },
    ...owner,
    { run: "create -f -", input: (kept) => child("child", kept) },
    { run: "delete cm owner --cascade=orphan --timeout=120s" },
    { run: "get cm child -o yaml" },
    { run: "delete cm child" },
    ...owner,
    {
      run: "create -f -",
      input: (kept) => child("held", kept, true).replace("  name:", "  finalizers: [example.org/hold]\n  name:"),
    },
    { run: "delete cm owner --cascade=foreground --wait=false" },
    { run: "wait cm held --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=120s" },
    { run: "get cm owner -o jsonpath={.metadata.finalizers}" },
    { run: 'patch cm held --type=merge -p \'{"metadata":{"finalizers":null}}\'' },
    gone("cm owner"),
    { run: "delete cm owner --now" },
    { run: "create -f -", input: (kept) => child("stray", { ...kept, owner: "00000000-0000-4000-8000-000000000000" }) },
    gone("cm stray"),
    { run: "create sa robot" },
    {
      run: "create -f -",
      input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, finalizers: [example.org/hold]}\n",
    },
    {
      run: "delete namespace deletion --timeout=120s",
      meanwhile: {
        after: 1,
        steps: [
          { run: "wait namespace deletion --for=condition=NamespaceFinalizersRemaining --timeout=120s" },
          { run: "get namespace deletion" },
          { run: "create cm refused" },
          {
            run: "get namespace deletion -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason} {.message}{\"\\n\"}{end}'",
          },
          { run: 'patch cm last --type=merge -p \'{"metadata":{"finalizers":null}}\'' },
        ],
      },
    },
    { run: "create cm nowhere" },
    { run: "delete namespace default" },
    { run: "delete --raw /api/v1/namespaces/none" },
  ],
};
