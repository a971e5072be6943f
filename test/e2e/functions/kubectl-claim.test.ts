// SPDX-License-Identifier: Apache-2.0
// A claim as its users meet it, with the kubectl of Kubernetes: applied, looked at, applied again, edited, refused, deleted.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { dump } from "js-yaml";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type ProgramResult, runProgram } from "../../interop/apiserver/run-program.ts";
import { eventually, type Plane, startPlane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { compositionOf, namespaceOf } from "./definitions.ts";

const group = "shop.example.org";
const claimType = { apiVersion: `${group}/v1`, kind: "Shop" };
const xrType = { apiVersion: `${group}/v1`, kind: "XShop" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const namespace = "street";
const key = { namespace, name: "corner" };

/** Makes a sign with the goods; a shop without goods gets a warning. */
function open(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { goods = [], motto } = xr.getObject("spec") as { readonly goods?: readonly string[]; readonly motto?: string };
  if (goods.length === 0) response.warning(rsp, "There is nothing to sell.").targetCompositeAndClaim();
  response.conditionTrue(rsp, "SignPainted", "Done").withMessage(`${goods.length} goods`).targetCompositeAndClaim();
  const data = { goods: goods.join(), ...(motto !== undefined && { motto }) };
  response.setDesiredComposedResource(rsp, "sign", { ...configMap, metadata: { namespace }, data }, { ready: true });
  response.setDesiredCompositeStatus(rsp, { goods: goods.length });
  return rsp;
}

const definition = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: `xshops.${group}` },
  spec: {
    group,
    names: { kind: "XShop", plural: "xshops" },
    claimNames: { kind: "Shop", plural: "shops" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  goods: { type: "array", maxItems: 3, items: { type: "string" } },
                  motto: { type: "string" },
                },
              },
              status: { type: "object", properties: { goods: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

let plane: Plane;
let directory: string;
let kubeconfig: string;

/** Runs kubectl as a user in the namespace would; what is given goes to its standard input. */
function kubectl(args: readonly string[], input?: object, env: Record<string, string> = {}): Promise<ProgramResult> {
  const flags = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, "cache")}`, `--namespace=${namespace}`];
  return runProgram({
    program: join(installed(kubernetes, cacheDirectory), "kubectl"),
    args: [...flags, ...args],
    input: input && dump(input),
    env: { HOME: directory, ...env },
    patienceMs: 150_000,
  });
}

/** What kubectl printed; it must exit with 0. */
async function printed(...given: Parameters<typeof kubectl>): Promise<string> {
  const { exitCode, stdout, stderr } = await kubectl(...given);
  assert.equal(exitCode, 0, `kubectl ${given[0].join(" ")}: ${stderr}`);
  return stdout.trim();
}

const claim = (spec: object): object => ({
  ...claimType,
  metadata: { ...key, labels: { owner: "sam" }, annotations: { "example.org/floor": "2" } },
  spec,
});

async function signOf(): Promise<KubeObject> {
  const labelSelector = "crossplane.io/claim-name=corner";
  return eventually("there is a sign", async () => {
    return (await plane.users.list(configMap, { namespace, labelSelector })).items[0];
  });
}

const signSays = (data: object): Promise<boolean> =>
  eventually(
    `the sign says ${JSON.stringify(data)}`,
    async () => JSON.stringify((await signOf())["data"]) === JSON.stringify(data),
  );

async function xrOf(): Promise<KubeObject> {
  const { spec } = (await plane.get(claimType, key)) as unknown as { spec: { resourceRef: { name: string } } };
  return plane.get(xrType, { name: spec.resourceRef.name });
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "e2e-kubectl-"));
  plane = await startPlane({ functions: { open } });
  kubeconfig = await plane.kubeconfig();
  await plane.apply(namespaceOf(namespace));
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test("definition and composition are applied, and the definition can be waited for", async () => {
  const pipeline = [{ step: "open", functionRef: { name: "open" } }];
  assert.match(await printed(["apply", "-f", "-"], definition), /xshops\.shop\.example\.org created$/);
  assert.match(
    await printed(["apply", "-f", "-"], compositionOf("shop", xrType, pipeline)),
    /composition.*shop created$/,
  );
  for (const condition of ["Established", "Offered"]) {
    await printed(["wait", `xrd/xshops.${group}`, `--for=condition=${condition}`, "--timeout=120s"]);
  }
});

test("a claim is applied, waited for and looked at", async () => {
  assert.equal(
    await printed(["apply", "-f", "-"], claim({ goods: [], motto: "soon" })),
    `shop.${group}/corner created`,
  );
  await printed(["wait", "shop/corner", "--for=condition=Ready", "--timeout=120s"]);
  await signSays({ goods: "", motto: "soon" });
  const table = (await printed(["get", "shop"])).split("\n").map((line) => line.split(/\s{2,}/));
  assert.deepEqual(table[0], ["NAME", "SYNCED", "READY", "CONNECTION-SECRET", "AGE"]);
  assert.deepEqual(table[1]?.slice(0, 3), ["corner", "True", "True"]);
  const path = "jsonpath={.status.conditions[?(@.type=='SignPainted')].message}";
  assert.equal(await printed(["get", "shop/corner", "-o", path]), "0 goods");
  await eventually("describe shows the result that the function sent to the claim", async () =>
    /Warning\s+ComposeResources\s.*There is nothing to sell\./.test(await printed(["describe", "shop/corner"])),
  );
  const { metadata } = await xrOf();
  assert.deepEqual(
    metadata.annotations,
    { "example.org/floor": "2" },
    "kubectl's last-applied annotation is not copied",
  );
  assert.equal(metadata.labels?.["owner"], "sam");
});

test("applied again: what was changed changes, what was taken away goes, what is the same stays", async () => {
  assert.match(await printed(["apply", "-f", "-"], claim({ goods: ["tea"] })), /corner configured$/);
  await signSays({ goods: "tea" });
  await printed(["wait", "shop/corner", "--for=jsonpath={.status.goods}=1", "--timeout=120s"]);
  const { spec } = (await xrOf()) as unknown as { readonly spec: { readonly motto?: string } };
  assert.equal(spec.motto, undefined);
  assert.match(await printed(["apply", "-f", "-"], claim({ goods: ["tea"] })), /corner unchanged$/);
});

test("edited: what the user typed reaches the composed resource", async () => {
  const script = join(directory, "editor.sed");
  writeFileSync(script, "s/^  - tea$/  - tea\\n  - jam/\ns/owner: sam/owner: pat/\n");
  const edited = await printed(["edit", "shop/corner"], undefined, { KUBE_EDITOR: `sed -i -f ${script}` });
  assert.match(edited, /corner edited$/);
  await signSays({ goods: "tea,jam" });
  await eventually("so does the label", async () => (await xrOf()).metadata.labels?.["owner"] === "pat");
  await rendersAsApplied(plane.users, xrType, { name: (await xrOf()).metadata.name ?? "" });
});

test("refused: the field is named, and nothing changes", async () => {
  const before = await plane.get(claimType, key);
  const { exitCode, stderr } = await kubectl(["apply", "-f", "-"], claim({ goods: ["a", "b", "c", "d"] }));
  assert.equal(exitCode, 1);
  assert.match(stderr, /The Shop "corner" is invalid: .*spec\.goods: Too many: 4: must have at most 3 items/);
  assert.deepEqual((await plane.get(claimType, key))["spec"], before["spec"]);
  const unknown = await kubectl(["apply", "-f", "-", "--validate=strict"], claim({ good: "tea" }));
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /unknown field "spec\.good"/);
});

test("deleted: kubectl waits until the claim is gone, and what was made for it follows", async () => {
  const xr = await xrOf();
  const [owner] = (await signOf()).metadata.ownerReferences ?? [];
  assert.match(await printed(["delete", "shop/corner", "--timeout=120s"]), /corner" deleted/);
  const gone = await kubectl(["get", "shop/corner"]);
  assert.match(gone.stderr, /NotFound/);
  await plane.gone(xrType, { name: xr.metadata.name ?? "" });
  // Kubernetes collects what has no owner, at its own pace.
  assert.deepEqual([owner?.uid, owner?.controller], [xr.metadata.uid, true]);
});
