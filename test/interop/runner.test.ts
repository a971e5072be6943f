// SPDX-License-Identifier: Apache-2.0
// Our runner calls the same function written with the public SDKs and with ours, over mutual TLS and in plaintext.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allCapabilities, type JsonObject, RunFunctionResponse, toJson } from "@purlin/function-protocol";
import { asCrossplane, type StepState, tlsFromDirectory } from "@purlin/function-runner";
import type { Security } from "../../tools/peers/function-commands.ts";
import { type FunctionProcess, startFunction } from "../../tools/peers/function-process.ts";
import { type CertificateFiles, createCertificateFiles } from "./certificate-files.ts";
import { type ControlPlane, createControlPlane, startingState, step } from "./control-plane.ts";
import { expectedMissing, expectedOnOldRunner, expectedSettled } from "./expected-responses.ts";
import { type Sdk, sdks, storefronts } from "./storefront-functions.ts";

let certificates: CertificateFiles;

before(() => {
  certificates = createCertificateFiles();
});

after(() => certificates?.[Symbol.dispose]());

const transports = {
  "mutual TLS": {
    server: (): Security => ({ certsDir: certificates.server }),
    client: () => tlsFromDirectory(certificates.client),
  },
  plaintext: {
    server: (): Security => ({ insecure: true }),
    client: () => "plaintext" as const,
  },
};

for (const [transport, { server, client }] of Object.entries(transports)) {
  describe(`our runner over ${transport}`, () => {
    const functions = new Map<Sdk, FunctionProcess>();
    let plane: ControlPlane;
    let oldPlane: ControlPlane;
    const portOf = (sdk: Sdk): number => functions.get(sdk)?.port ?? 0;

    before(async () => {
      for (const sdk of sdks) functions.set(sdk, await startFunction(storefronts[sdk](server())));
      plane = createControlPlane({ security: client() });
      oldPlane = createControlPlane({ security: client(), inside: (runner) => asCrossplane(runner, "v1.17") });
    });

    after(async () => {
      plane?.[Symbol.dispose]();
      oldPlane?.[Symbol.dispose]();
      for (const [sdk, running] of functions) {
        const { code, signal } = await running.stop();
        assert.deepEqual({ sdk, code, signal }, { sdk, code: 0, signal: null });
      }
    });

    for (const sdk of sdks) {
      test(`${sdk}: requirements settle in three calls`, async () => {
        const { response, requests } = await plane.run(portOf(sdk), step("one", "app-config"), startingState());
        const tags = requests.map(({ meta }) => meta?.tag ?? "");
        assert.match(tags[0] ?? "", /^[0-9a-f]{64}$/);
        assert.deepEqual(shown(response), expectedSettled(tags[0] ?? ""));

        assert.deepEqual(tags, Array(3).fill(tags[0]), "every call of a step carries the same tag");
        assert.deepEqual(
          requests.map(({ meta }) => meta?.capabilities),
          Array(3).fill(allCapabilities),
        );
        assert.deepEqual(
          requests.map(({ requiredResources }) => [...requiredResources.keys()].sort()),
          [[], ["backends", "config"], ["backends", "config", "overrides"]],
        );
        assert.deepEqual(
          requests.map(({ requiredSchemas }) => [...requiredSchemas.keys()].sort()),
          [[], ["deployment", "nothing"], ["deployment", "nothing"]],
        );
      });

      test(`${sdk}: gets the built-in schema whole and the unknown one empty`, async () => {
        const { requests } = await plane.run(portOf(sdk), step("one", "app-config"), startingState());
        const schemas = requests.at(-1)?.requiredSchemas;
        const deployment = schemas?.get("deployment")?.openapiV3;
        assert.ok(deployment !== undefined);
        assert.ok(!JSON.stringify(deployment.value).includes("$ref"));
        assert.equal(schemas?.get("nothing")?.openapiV3, undefined);
      });

      test(`${sdk}: an empty result is distinct from no request`, async () => {
        const { response, requests } = await plane.run(portOf(sdk), step("one", "lost"), startingState());
        assert.equal(requests.length, 2);
        assert.deepEqual(shown(response), expectedMissing(requests[0]?.meta?.tag ?? ""));
      });

      test(`${sdk}: a runner without capabilities gets the fallback`, async () => {
        const { response, requests } = await oldPlane.run(portOf(sdk), step("one", "app-config"), startingState());
        assert.equal(requests.length, 1);
        assert.deepEqual(shown(response), expectedOnOldRunner());
      });
    }

    test("the same request gives the same answer, whichever SDK answers", async () => {
      const answers = [];
      for (const sdk of sdks) {
        const { response } = await plane.run(portOf(sdk), step("one", "plain-config"), startingState());
        answers.push(shown(response));
      }
      assert.deepEqual(answers[1], answers[0]);
      assert.deepEqual(answers[2], answers[0]);
    });

    for (const order of rotations(sdks)) {
      test(`context and desired state go from ${order.join(" to ")}`, async () => {
        let state: StepState = startingState();
        const calls: number[] = [];
        for (const [index, sdk] of order.entries()) {
          const definition = step(`step-${index}`, index === 0 ? "app-config" : "plain-config");
          const { response, requests } = await plane.run(portOf(sdk), definition, state);
          calls.push(requests.length);
          state = { observed: state.observed, desired: response.desired, context: response.context };
        }
        assert.deepEqual(calls, [3, 2, 2]);
        const trail = ["step-0", "step-0", "step-0", "step-1", "step-1", "step-2", "step-2"];
        assert.deepEqual(state.context?.value, { "interop.example.org/trail": trail });
        assert.deepEqual([...(state.desired?.resources.keys() ?? [])], ["deployment"]);
        const status = state.desired?.composite?.resource?.value["status"] as JsonObject | undefined;
        assert.equal(status?.["image"], "shop:1");
      });
    }
  });
}

/** Protobuf-JSON of a response. A result without a target is aimed at the composite; some SDKs say so, some leave it out. */
function shown(response: RunFunctionResponse): JsonObject {
  const json = toJson(RunFunctionResponse, response);
  const results = (json["results"] ?? []) as JsonObject[];
  return {
    ...json,
    ...(results.length > 0 && { results: results.map((one) => ({ target: "TARGET_COMPOSITE", ...one })) }),
  };
}

function rotations<T>(items: readonly T[]): T[][] {
  return items.map((_, index) => [...items.slice(index), ...items.slice(0, index)]);
}
