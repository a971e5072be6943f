// SPDX-License-Identifier: Apache-2.0
// purlin xpkg push, inspect, pull and build --base, with a real registry.
import assert from "node:assert/strict";
import { createWriteStream, readFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import {
  buildImage,
  createRegistryClient,
  formatReference,
  openContentStore,
  parseReference,
  pushPackage,
  type Registry,
  startRegistry,
  writeArchive,
} from "@purlin/oci";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import type { Inspected } from "./inspect-command.ts";

const manifestType = "application/vnd.oci.image.manifest.v1+json";
let registryFolder: TempFolder;
let registry: Registry;
before(async () => {
  registryFolder = tempFolder();
  registry = await startRegistry({ directory: registryFolder.path });
});
after(async () => {
  await registry.close();
  registryFolder[Symbol.dispose]();
});

const xpkg = (folder: TempFolder, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> =>
  runInProcess(["xpkg", ...args], { cwd: folder.path, env });

async function ok(folder: TempFolder, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await xpkg(folder, args);
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout;
}

test("a function project is built, pushed, inspected, and pulled as the same file", async () => {
  using project = functionPackage();
  const reference = `${registry.address}/acme/function-hello:v1`;
  await ok(project, "build", "-o", "built.xpkg");
  const pushed = await ok(project, "push", reference);
  assert.match(pushed, /^Pushed .*function-hello:v1 for linux\/amd64\n {2}sha256:[0-9a-f]{64}\n/);
  assert.ok(pushed.endsWith(`Next:\n  purlin xpkg install function ${reference}\n`));
  const report = JSON.parse(await ok(project, "push", reference, "-o", "json")) as Record<string, unknown>;
  assert.deepEqual(report, {
    apiVersion: "cli.purlin.dev/v1",
    kind: "PushReport",
    image: reference,
    digest: /sha256:\w+/.exec(pushed)?.[0],
    platforms: ["linux/amd64"],
    package: { kind: "Function", name: "function-hello" },
  });
  const [there, here] = [await ok(project, "inspect", reference), await ok(project, "inspect", "built.xpkg")];
  assert.equal(there, here);
  assert.match(there, /^Package: +Function function-hello\nDigest: +sha256:.*\nPlatforms: +linux\/amd64\n/);
  assert.match(
    there,
    /\nRuns: +node --enable-source-maps \/function\/main\.mjs as user 2000, on Purlin's own Node\nLayers:\n/,
  );
  assert.match(await ok(project, "pull", reference, "-o", "pulled.xpkg"), /^Pulled .* into pulled\.xpkg\n {2}sha256:/);
  const [one, two] = ["built.xpkg", "pulled.xpkg"].map((file) => readFileSync(join(project.path, file)));
  assert.ok(one?.equals(two ?? Buffer.alloc(0)));
});

test("files for several platforms become one package", async () => {
  using project = functionPackage();
  const reference = `${registry.address}/acme/function-many:v1`;
  for (const arch of ["arm64", "amd64"])
    await ok(project, "build", "--platform", `linux/${arch}`, "-o", `${arch}.xpkg`);
  await ok(project, "push", "-f", "arm64.xpkg,amd64.xpkg", reference);
  const found = JSON.parse(await ok(project, "inspect", reference, "-o", "json")) as Inspected;
  assert.deepEqual(found.platforms, ["linux/arm64", "linux/amd64"]);
  await ok(project, "pull", reference, "--platform", "linux/arm64", "-o", "again.xpkg");
  assert.ok(readFileSync(join(project.path, "again.xpkg")).equals(readFileSync(join(project.path, "arm64.xpkg"))));
  const twice = await xpkg(project, ["push", "-f", "arm64.xpkg,again.xpkg", reference]);
  assert.match(twice.stderr, /^error: arm64\.xpkg and again\.xpkg are both for linux\/arm64: build one of them/);
  const other = await xpkg(project, ["pull", reference, "--platform", "linux/mips"]);
  assert.match(other.stderr, /has no image for linux\/mips, only for linux\/arm64, linux\/amd64/);
});

test("a function lies on the image that --base names, and needs no Node of ours then", async () => {
  using project = functionPackage();
  const base = `${registry.address}/acme/base:v1`;
  project.write("other/crossplane.yaml", packageMeta("function-base"));
  await ok(project, "build", "-f", "other", "-o", "base.xpkg", "--platform", "linux/arm64");
  await ok(project, "push", "-f", "base.xpkg", base);
  await ok(project, "build", "--base", base, "--platform", "linux/arm64", "-o", "on-base.xpkg");
  const found = JSON.parse(await ok(project, "inspect", "on-base.xpkg", "-o", "json")) as Inspected;
  assert.deepEqual([found.runtime, found.layers.length], [undefined, 4]);
  assert.deepEqual(found.layers.map(({ xpkg: mark }) => mark).slice(0, 3), [undefined, undefined, undefined]);
  const wrong = await xpkg(project, ["build", "--base", base, "--platform", "linux/amd64"]);
  assert.match(wrong.stderr, /is for linux\/arm64, not linux\/amd64: choose another, or --platform\n$/);
});

test("credentials come from --registry-config, from DOCKER_CONFIG and from HOME", async () => {
  using project = functionPackage();
  await ok(project, "build", "-o", "x.xpkg");
  const wanted = `Basic ${Buffer.from("me:secret").toString("base64")}`;
  const guard = createServer((request, response) => {
    if (request.headers.authorization !== wanted) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="r"' }).end();
      return;
    }
    const { method, url, headers } = request;
    const inner = forward(`http://${registry.address}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(inner);
  });
  await new Promise<void>((resolve) => guard.listen(0, "127.0.0.1", resolve));
  try {
    const host = `127.0.0.1:${(guard.address() as AddressInfo).port}`;
    const auth = wanted.slice("Basic ".length);
    const config = project.write("home/.docker/config.json", JSON.stringify({ auths: { [host]: { auth } } }));
    const push = ["push", "-f", "x.xpkg", `${host}/acme/guarded:v1`];
    const refused = await xpkg(project, push);
    assert.match(
      refused.stderr,
      /requires a user name and password: log in with "docker login", or specify a file with --registry-config; for the registry of "purlin up", run the command in its folder or set PURLIN_DATA_DIR to its data directory\n$/,
    );
    const ways: [string[], Record<string, string>][] = [
      [["--registry-config", config], {}],
      [[], { DOCKER_CONFIG: join(project.path, "home/.docker"), HOME: "/nowhere" }],
      [[], { HOME: join(project.path, "home") }],
    ];
    for (const [more, env] of ways) {
      const { exitCode, stderr } = await xpkg(project, [...push, ...more], env);
      assert.deepEqual([exitCode, stderr], [0, ""]);
    }
    project.write("bad.json", "{");
    const bad = await xpkg(project, [...push, "--registry-config", "bad.json"]);
    assert.match(bad.stderr, /^error: bad\.json: it is not JSON\n/);
  } finally {
    guard.closeAllConnections();
    guard.close();
  }
});

test("push and pull report the digests", async () => {
  using project = functionPackage();
  const none = `${registry.address}/acme/none`;
  const unknown = await xpkg(project, ["pull", `${none}@sha256:${"0".repeat(64)}`]);
  assert.match(
    unknown.stderr,
    /^error: cannot read .*: 127\.0\.0\.1:\d+ answers 404 \(MANIFEST_UNKNOWN: .*\); check registry, repository and tag\n$/,
  );
  const lying = createServer(
    (_, response) => void response.setHeader("content-type", manifestType).end(`{"schemaVersion": 2}`),
  );
  await new Promise<void>((resolve) => lying.listen(0, "127.0.0.1", resolve));
  try {
    const host = `127.0.0.1:${(lying.address() as AddressInfo).port}`;
    const digest = await xpkg(project, ["pull", `${host}/acme/f@sha256:${"0".repeat(64)}`]);
    assert.match(digest.stderr, /^error: .*\/acme\/f@sha256:0+: digest mismatch: got sha256:\w+\n$/);
    const shape = await xpkg(project, ["inspect", `${host}/acme/f:v1`]);
    assert.match(shape.stderr, /^error: .*\/acme\/f:v1: config has no media type or no sha256 digest\n$/);
    assert.deepEqual([unknown.exitCode, digest.exitCode, shape.exitCode], [1, 1, 1]);
  } finally {
    lying.closeAllConnections();
    lying.close();
  }
});

test("pull, inspect and push report an image that is not a package", async () => {
  using project = functionPackage();
  const reference = parseReference(`${registry.address}/acme/plain:v1`);
  const store = await openContentStore(join(project.path, "store"));
  const process = { entrypoint: ["/x"], cmd: [], env: [], workingDir: "/", user: "" };
  const platform = { os: "linux", architecture: "amd64" };
  const image = await buildImage(store, { platform, process, base: [], layers: [], packageYaml: "" });
  const bare = { ...image.manifest, layers: [] };
  const bytes = Buffer.from(JSON.stringify(bare));
  await pushPackage(createRegistryClient(), store, { images: [image], to: reference });
  await createRegistryClient().pushManifest(reference, { bytes, mediaType: manifestType });
  for (const command of ["pull", "inspect"]) {
    const { exitCode, stderr } = await xpkg(project, [command, formatReference(reference)]);
    assert.deepEqual(
      [exitCode, stderr],
      [1, `error: ${formatReference(reference)} is not a package: it has no package.yaml\n`],
    );
  }
  await writeArchive(store, { manifest: bare }, createWriteStream(join(project.path, "plain.xpkg")));
  const pushed = await xpkg(project, ["push", "-f", "plain.xpkg", formatReference(reference)]);
  assert.deepEqual(
    [pushed.exitCode, pushed.stderr],
    [1, "error: plain.xpkg is not a package: it has no package.yaml\n"],
  );
});

const refused: Record<string, { readonly args: string[]; readonly code?: number; readonly says: RegExp }> = {
  NothingToPush: { args: ["push", "r.example.org/x:v1"], says: /^error: no \.xpkg file found: specify the file/ },
  NoFile: {
    args: ["push", "-f", "n.xpkg", "r.example.org/x:v1"],
    says: /^error: cannot read n\.xpkg: no such file/,
  },
  NoPackage: { args: ["push", "-f", "a.yaml", "r.example.org/x:v1"], says: /^error: a\.yaml is not a package file: / },
  NoTag: { args: ["push", `r.example.org/x@sha256:${"0".repeat(64)}`], says: /missing tag: use/ },
  NoImage: { args: ["pull", "x"], says: /^error: "x" names no image: it has no registry/ },
  Unreachable: { args: ["pull", "127.0.0.1:1/x:v1"], says: /cannot reach 127\.0\.0\.1:1: .*check the registry's name/ },
  NoPackageToInspect: {
    args: ["inspect", "a.yaml"],
    says: /^error: a\.yaml is not a package file: unexpected end of file; .*, or build one with "purlin xpkg build"/,
  },
  FolderToInspect: {
    args: ["inspect", "."],
    says: /^error: cannot read \.: it is a folder: specify a file in it; build one with /,
  },
  Neither: { args: ["inspect", "x"], says: /^error: no such file x, and "x" names no image/ },
  NoFormat: { args: ["inspect", "x", "-o", "xml"], code: 2, says: /^error: --output xml: expected text, json or yaml/ },
  InheritedFormat: {
    args: ["inspect", "x", "-o", "constructor"],
    code: 2,
    says: /^error: --output constructor: expected text, json or yaml/,
  },
};
for (const [name, { args, code = 1, says }] of Object.entries(refused)) {
  test(`refused in one line: ${name}`, async () => {
    using folder = tempFolder({ "a.yaml": packageMeta() });
    const { exitCode, stdout, stderr } = await xpkg(folder, args);
    assert.match(stderr, says);
    assert.deepEqual([exitCode, stdout, stderr.split("\n").length], [code, "", 2]);
  });
}
