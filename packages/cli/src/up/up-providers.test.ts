// SPDX-License-Identifier: Apache-2.0
// A Provider of a whole control plane that runs from its source file: started, saved, broken and repaired.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { purlin, up } from "../../test/function-folder.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const manifest = (name: string, source: string): string =>
  `apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: ${name}\n  annotations: {purlin.dev/source: ${source}}\n`;

/** Where Providers share the network of the machine, each needs a port of its own. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A Provider whose objects say which version of it looks after them. */
function program(version: string, port: number): string {
  return `import { tmpdir } from "node:os";
import { runProvider } from ${JSON.stringify(join(root, "packages/provider-sdk/src/index.ts"))};
import { fileResource } from ${JSON.stringify(join(root, "examples/provider/src/file.ts"))};
const file = fileResource(tmpdir() + "/files");
const resource = {
  ...file,
  atProvider: { type: "object", properties: { version: { type: "string" } } },
  pollIntervalMs: 500,
  observe: async (managed) => ({ ...(await file.observe(managed)), atProvider: { version: "${version}" } }),
};
const argv = [...process.argv.slice(2), "--health-port=${port}"];
await runProvider({ name: "provider-notes", resources: [resource], argv });
`;
}

const note = `apiVersion: files.example.org/v1alpha1
kind: File
metadata: {name: note.txt, namespace: default}
spec: {forProvider: {content: hello}}
`;

async function saysVersion(folder: TempFolder, version: string): Promise<void> {
  await eventually(`${version} looks after the file`, async () => {
    const { stdout } = await purlin(folder, "get", "file", "note.txt", "-o", "yaml");
    return stdout.includes(`version: ${version}\n`) || undefined;
  });
}

test("a Provider runs from its source file: each save is an upgrade, and a mistake changes nothing", async () => {
  const port = await freePort();
  using folder = tempFolder({
    "project/package.json": '{"type": "module"}',
    "project/package/crossplane.yaml":
      "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-notes}\nspec: {capabilities: [safe-start]}\n",
    "project/src/main.ts": program("v1", port),
    "project/provider.yaml": manifest("provider-notes", "src/main.ts"),
    "notes/note.yaml": note,
    "elsewhere/main.ts": program("never", port),
    "project/stray/provider.yaml": manifest("provider-stray", "../../elsewhere/main.ts"),
  });
  // The object of a kind that the Provider brings waits for it. All controllers may set the owners that they set.
  const checked = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
  await using running = up(folder, "project/provider.yaml", "project/stray", "notes", checked);
  await running.nextAll("stdout", [
    /Provider provider-notes: ready/,
    /Provider provider-stray: Failing: Installed: UnpackingPackage: cannot build package: elsewhere\/main\.ts: outside the folders given to purlin up/,
  ]);
  await saysVersion(folder, "v1");
  folder.write("project/src/main.ts", `this is not TypeScript\n${program("v2", port)}`);
  await running.next("stdout", /Provider provider-notes: .*cannot build package: project\/src\/main\.ts/);
  const revisions = async (): Promise<string> => (await purlin(folder, "get", "providerrevisions")).stdout;
  assert.equal((await revisions()).match(/provider-notes-\w+ /g)?.length, 1);
  folder.write("project/src/main.ts", program("v2", port));
  await saysVersion(folder, "v2");
  assert.match(await revisions(), /\bInactive\b/);
});
