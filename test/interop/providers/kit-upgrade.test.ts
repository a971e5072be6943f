// SPDX-License-Identifier: Apache-2.0
// A Provider on the provider kit is upgraded and rolled back. The new process starts before the old one stops, so a lease decides which of
// them works. Each version notes its calls in a journal, which is why there is no sandbox.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { conditionOf, conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { freePort } from "../../../tools/peers/free-port.ts";
import { type EmbeddedPlane, purlin, startPlane } from "../packages/embedded-plane.ts";
import { openWorkshop, type Workshop } from "../packages/function-packages.ts";
import { kitProject } from "./provider-packages.ts";

const name = "provider-notes";
const providerType = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider" };
const file = { apiVersion: "files.example.org/v1alpha1", kind: "File" };
const note = { ...file, namespace: "default", name: "note.txt" };

let plane: EmbeddedPlane;
let workshop: Workshop;
let folder: string;
before(async () => {
  workshop = openWorkshop();
  folder = join(workshop.directory, "files");
  mkdirSync(folder);
  plane = await startPlane({ sandbox: false, env: { PURLIN_EGRESS: "none" } });
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  workshop?.[Symbol.dispose]();
});

/** Builds a version of the Provider, and puts it into the registry. The second one has one field more. */
async function publish(version: "v1" | "v2"): Promise<string> {
  const project = join(workshop.directory, version);
  for (const part of ["package", "src"]) mkdirSync(join(project, part), { recursive: true });
  const sdk = join(kitProject, "..", "..", "packages", "provider-sdk", "src", "index.ts");
  const fields = version === "v1" ? "" : ', suffix: { type: "string" }';
  const program = `import { appendFileSync } from "node:fs";
import { runProvider } from ${JSON.stringify(sdk)};
import { fileResource } from ${JSON.stringify(join(kitProject, "src", "file.ts"))};
const file = fileResource(${JSON.stringify(folder)});
const wanted = (managed) => ({ ...managed, forProvider: { content: managed.forProvider.content + (managed.forProvider.suffix ?? "") } });
const noted = (method) => (managed) => {
  appendFileSync(${JSON.stringify(join(workshop.directory, "journal"))}, "${version} " + method + "\\n");
  return file[method](wanted(managed));
};
const resource = {
  ...file,
  forProvider: { type: "object", required: ["content"], properties: { content: { type: "string" }${fields} } },
  atProvider: { type: "object", properties: { version: { type: "string" } } },
  pollIntervalMs: 1000,
  async observe(managed) {
    const observed = await noted("observe")(managed);
    return { ...observed, atProvider: { version: "${version}" } };
  },
  create: noted("create"),
  update: noted("update"),
  delete: noted("delete"),
};
await runProvider({ name: "${name}", resources: [resource], argv: [...process.argv.slice(2), "--leader-election", "--health-port=${await freePort()}"] });
`;
  writeFileSync(join(project, "src", "main.ts"), program);
  const meta = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: ${name}}\n`;
  writeFileSync(join(project, "package", "crossplane.yaml"), `${meta}spec: {capabilities: [safe-start]}\n`);
  writeFileSync(join(project, "package.json"), '{"type": "module"}');
  const built = join(workshop.directory, `${version}.xpkg`);
  await purlin("xpkg", "build", "-f", join(project, "package"), "-o", built);
  return plane.push(built, `acme/${name}:${version}`);
}

const install = (image: string): Promise<unknown> =>
  plane.users.apply({ ...providerType, metadata: { name }, spec: { package: image } } as KubeObject, {
    fieldManager: "user",
    force: true,
  });

/** Waits until a version looks after the file. */
async function managedBy(version: string): Promise<KubeObject> {
  return plane.until(
    `${version} manages it`,
    note,
    (one) =>
      conditionOf(conditionsOf(one), "Ready").status === "True" &&
      memberAt(one, ["status", "atProvider", "version"]) === version,
  );
}

const journal = (): readonly string[] => readFileSync(join(workshop.directory, "journal"), "utf8").trim().split("\n");
const content = (): string => readFileSync(join(folder, note.name), "utf8");

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let left = 600; !isSo(); left -= 1) {
    assert.notEqual(left, 0, `waited in vain: ${what}`);
    await delay(100);
  }
}

/** No version calls its handler after the next one has begun. */
function assertHandedOver(order: readonly string[]): void {
  const versions = journal().map((line) => line.split(" ")[0]);
  assert.deepEqual(
    versions.filter((one, at) => one !== versions[at - 1]),
    order,
    journal().join("\n"),
  );
}

test("a new version takes over what the old one manages, and the old one takes it back", async () => {
  const [first, second] = [await publish("v1"), await publish("v2")];
  await install(first);
  await plane.until(`${name} is healthy`, { ...providerType, name }, (one) =>
    ["Healthy", "Installed"].every((type) => conditionOf(conditionsOf(one), type).status === "True"),
  );
  const metadata = { name: note.name, namespace: note.namespace };
  await plane.users.create({ ...file, metadata, spec: { forProvider: { content: "hello" } } } as KubeObject);
  const made = await managedBy("v1");
  assert.equal(content(), "hello");

  await install(second);
  const taken = await managedBy("v2");
  assert.equal(taken.metadata.uid, made.metadata.uid);
  await plane.users.patch(note, { spec: { forProvider: { suffix: "!" } } }, { type: "merge" });
  await until("v2 serves its new field", () => content() === "hello!");
  assertHandedOver(["v1", "v2"]);

  await install(first);
  await managedBy("v1");
  await until("v1 does not serve the field", () => content() === "hello");
  assertHandedOver(["v1", "v2", "v1"]);
  assert.equal(journal().filter((line) => line.endsWith(" create")).length, 1, "nothing is created again");

  await plane.users.delete(note);
  await until("the file is deleted", () => !existsSync(join(folder, note.name)));
});
