// SPDX-License-Identifier: Apache-2.0
import { inDiff } from "./made-up.ts";
import type { Script } from "./step.ts";

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.interop.example.org}
spec:
  group: interop.example.org
  scope: Namespaced
  names: {plural: gates, singular: gate, kind: Gate, listKind: GateList, shortNames: [gt], categories: [all, barriers]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.bars, statusReplicasPath: .status.bars}
    additionalPrinterColumns:
    - {name: Bars, type: integer, jsonPath: .spec.bars}
    - {name: Open, type: string, jsonPath: '.status.conditions[?(@.type=="Open")].status'}
    - {name: Colour, type: string, priority: 1, jsonPath: .spec.colour}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields: [{jsonPath: .spec.colour}]
    schema:
      openAPIV3Schema:
        type: object
        description: A gate in a fence.
        required: [spec]
        properties:
          spec:
            type: object
            description: What the gate should be.
            required: [bars]
            x-kubernetes-validations:
            - {rule: "self.bars < 100 || self.colour == 'gold'", message: only a golden gate may have that many bars}
            properties:
              bars: {type: integer, minimum: 1, description: How many bars it has.}
              colour: {type: string, enum: [red, green, gold], default: red}
              hinges:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, default: 2}}}
              fixed: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed is immutable}]}
          status:
            type: object
            properties:
              bars: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

const gate = (spec: string, name = "front"): string =>
  `apiVersion: interop.example.org/v1\nkind: Gate\nmetadata: {name: ${name}}\nspec: ${spec}\n`;

/** A kind of our own, from its definition to its end. */
export const customResources: Script = {
  name: "custom-resources",
  steps: [
    { run: "create namespace custom-resources" },
    { run: "get gates" },
    { run: "apply -f -", input: definition },
    { run: "wait crd gates.interop.example.org --for=condition=Established --timeout=120s" },
    { run: "get crd gates.interop.example.org" },
    { run: "get crd gates.interop.example.org -o json --show-managed-fields" },
    { run: "describe crd gates.interop.example.org" },
    { run: "api-resources --api-group=interop.example.org -o wide" },
    // The descriptions of the parts every object has are not served.
    { run: "explain gate", until: /KIND: *Gate/, ignore: /^ {4}(?!A gate|What|How)|^ *$/ },
    { run: "explain gate.spec" },
    { run: "explain gate.spec.bars" },
    { run: "explain gate --recursive" },
    { run: "explain gate.spec.nothing" },
    { run: "get gates" },
    { run: "apply -f -", input: gate("{bars: 3, hinges: [{name: low}, {name: high, size: 5}]}") },
    { run: "apply -f -", input: gate("{bars: 3, hinges: [{name: low}, {name: high, size: 5}]}") },
    { run: "get gate front -o json --show-managed-fields" },
    { run: "apply -f -", input: gate("{bars: 0, colour: blue}", "bad"), unordered: true },
    { run: "apply -f -", input: gate("{bars: 200}", "bad") },
    { run: "apply -f -", input: gate("{bars: many}", "bad") },
    { run: "apply -f -", input: gate("{bars: 1, nonsense: 1}", "bad") },
    { run: "apply -f - --validate=warn", input: gate("{bars: 1, nonsense: 1}", "loose") },
    { run: "apply -f -", input: gate("{bars: 1, hinges: [{name: a}, {name: a}]}", "bad") },
    { run: "apply -f -", input: "apiVersion: interop.example.org/v1\nkind: Gate\nmetadata: {name: bad}\n" },
    { run: "apply -f -", input: "apiVersion: interop.example.org/v2\nkind: Gate\nmetadata: {name: bad}\n" },
    { run: "get gates" },
    { run: "get gt -o wide" },
    { run: "get barriers" },
    { run: "get all" },
    { run: "get gates --field-selector spec.colour=red" },
    { run: "get gates --field-selector spec.bars=3" },
    { run: "describe gate front" },
    { run: "scale gate front --replicas=4" },
    { run: "get gate front --subresource=scale -o yaml" },
    { run: 'patch gate front --type=merge -p \'{"spec":{"fixed":"a"}}\'' },
    { run: 'patch gate front --type=merge -p \'{"spec":{"fixed":"b"}}\'' },
    { run: 'patch gate front -p \'{"spec":{"bars":5}}\'' },
    { run: 'patch gate front --type=json -p \'[{"op":"add","path":"/spec/hinges/0","value":{"name":"mid"}}]\'' },
    {
      run: 'patch gate front --subresource=status --type=merge -p \'{"status":{"bars":4,"conditions":[{"type":"Open","status":"True"}]}}\'',
    },
    { run: "wait gate front --for=condition=Open --timeout=120s" },
    { run: "get gates" },
    { run: "apply --server-side --field-manager=other -f -", input: gate("{bars: 4, hinges: [{name: top}]}") },
    { run: "apply --server-side --field-manager=other -f -", input: gate("{bars: 9}") },
    { run: "get gate front -o json --show-managed-fields" },
    { run: "diff -f -", input: gate("{bars: 4, colour: green}"), madeUp: inDiff },
    { run: "edit gate front", edit: ["s/colour: red/colour: green/"] },
    { run: "get gate front -o jsonpath={.spec.colour}" },
    { run: "label gate front a=b" },
    {
      run: "apply -f -",
      input: definition
        .replace("enum: [red, green, gold]", "enum: [red, green, gold, grey]")
        .replace(/ +- \{name: Bars.*\n/, ""),
    },
    { run: "get crd gates.interop.example.org -o jsonpath='{.metadata.generation} {.status.storedVersions}'" },
    { run: 'patch crd gates.interop.example.org --type=merge -p \'{"spec":{"scope":"Cluster"}}\'' },
    { run: "apply -f -", input: definition.replace("gates.interop", "doors.interop") },
    {
      run: "apply -f -",
      input: definition.replaceAll("gate", "door").replaceAll("Gate", "Door").replace("self.bars <", "self.bras <"),
    },
    { run: "delete gate loose" },
    { run: "delete crd gates.interop.example.org" },
    { run: "get gates" },
  ],
};
