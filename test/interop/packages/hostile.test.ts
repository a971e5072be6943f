// SPDX-License-Identifier: Apache-2.0
// What a hostile function gets hold of in the sandbox of a control plane with another function: nothing.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findSandbox } from "@purlin/function-process";
import { composedMaps, install } from "./composed-maps.ts";
import { type EmbeddedPlane, startPlane } from "./embedded-plane.ts";
import { bundledPackage, openWorkshop } from "./function-packages.ts";
import { compositionOf } from "./greeting-pipeline.ts";

interface Attempt {
  readonly does: "read" | "open" | "list" | "signal" | "reach" | "fill";
  readonly target: string;
  readonly gets: RegExp;
}

async function requireSandbox(): Promise<void> {
  const support = await findSandbox();
  assert.ok(support.isSupported, support.isSupported ? "" : `${support.reason}: apt-get install bubblewrap`);
}

/** Files the control plane keeps, each of them there. */
function secretsOf({ directory }: EmbeddedPlane): Record<string, string> {
  const certificates = join(directory, "functions", "certificates");
  const [victim = ""] = readdirSync(certificates).filter((name) => name.startsWith("function-victim"));
  const found = {
    access: join(directory, "kubeconfig"),
    "victim-key": join(certificates, victim, "tls.key"),
    log: join(directory, "purlin.log"),
  };
  for (const path of Object.values(found)) assert.ok(existsSync(path), `${path} is not there: nothing would be proven`);
  return found;
}

/** The addresses of the control plane for programs in its network. */
function placesOf({ directory }: EmbeddedPlane): Record<string, string> {
  const server = /server: "?https:\/\/([^"\s]+)"?/.exec(readFileSync(join(directory, "kubeconfig"), "utf8"))?.[1] ?? "";
  assert.match(server, /:\d+$/);
  return { api: server, registry: `127.0.0.1:${readFileSync(join(directory, "registry", "port"), "utf8").trim()}` };
}

function attemptsOn(plane: EmbeddedPlane): Record<string, Attempt> {
  const { pid, directory } = plane;
  const all: Record<string, Attempt> = {};
  for (const [name, target] of Object.entries(secretsOf(plane))) {
    all[`read-${name}`] = { does: "read", target, gets: /^ENOENT$/ };
    all[`climb-${name}`] = { does: "read", target: `/proc/self/root/../../../..${target}`, gets: /^ENOENT$/ };
    all[`through-init-${name}`] = { does: "read", target: `/proc/1/root${target}`, gets: /^(ENOENT|EACCES)$/ };
  }
  for (const [name, target] of Object.entries(placesOf(plane))) {
    all[`reach-${name}`] = { does: "reach", target, gets: /^(ECONNREFUSED|ENETUNREACH)$/ };
  }
  return {
    ...all,
    "reach-world": { does: "reach", target: "192.0.2.1:443", gets: /^(ENETUNREACH|EHOSTUNREACH)$/ },
    "list-data": { does: "list", target: directory, gets: /^ENOENT$/ },
    "list-libraries": { does: "list", target: "/usr/lib", gets: /^(?!.*\b(?:pkgconfig|systemd|dpkg|apt)\b)/ },
    "list-home": { does: "list", target: process.env["HOME"] ?? "/root", gets: /^(ENOENT|EACCES)$/ },
    "read-passwords": { does: "read", target: "/etc/shadow", gets: /^ENOENT$/ },
    "read-environment": { does: "read", target: `/proc/${pid}/environ`, gets: /^ENOENT$/ },
    "read-memory": { does: "open", target: `/proc/${pid}/mem`, gets: /^ENOENT$/ },
    "list-processes": { does: "list", target: "/proc", gets: new RegExp(`^(?!.*\\b${pid}\\b)`) },
    "signal-control-plane": { does: "signal", target: String(pid), gets: /^ESRCH$/ },
    "write-root": { does: "fill", target: "/", gets: /^EROFS after 0 MiB$/ },
    "write-function": { does: "open", target: "/function/main.mjs", gets: /^EROFS$/ },
    "write-own-key": { does: "open", target: "/tls/server/tls.key", gets: /^EROFS$/ },
    "write-libraries": { does: "fill", target: "/lib64", gets: /^(EROFS|ENOENT) after 0 MiB$/ },
    "write-node": { does: "fill", target: "/purlin/node", gets: /^EROFS after 0 MiB$/ },
    "write-kernel": { does: "open", target: "/proc/sys/kernel/core_pattern", gets: /^(EROFS|EACCES)$/ },
    "write-sysrq": { does: "open", target: "/proc/sysrq-trigger", gets: /^(EROFS|EACCES|ENOENT)$/ },
    "write-devices": { does: "fill", target: "/dev", gets: /^EROFS after 0 MiB$/ },
    "list-devices": { does: "list", target: "/dev", gets: /^(?!.*\b(?:sd|vd|nvme|mem|kmsg)).*null/ },
    "fill-disk": { does: "fill", target: "/tmp", gets: /^ENOSPC after 6\d MiB$/ },
    "fill-memory": { does: "fill", target: "/dev/shm", gets: /^ENOSPC after 1\d MiB$/ },
  };
}

test("a hostile function gets nowhere, and its control plane and its neighbour do not notice", async () => {
  await requireSandbox();
  using workshop = openWorkshop();
  await using plane = await startPlane({ sandbox: true });
  await install(plane, "function-victim", await bundledPackage(workshop, "function-victim", "purlin/function.ts"));
  await install(plane, "function-hostile", await bundledPackage(workshop, "function-hostile", "hostile/function.ts"));
  const attempts = attemptsOn(plane);
  const maps = await composedMaps(plane, compositionOf(["function-hostile", "function-victim"], { attempts }));
  const outcome = maps.find((map) => map["keys"] !== undefined) ?? {};
  assert.match(outcome["keys"] ?? "", /^-----BEGIN /, "its own key it can read: the attempts are real");
  for (const [name, { gets, does, target }] of Object.entries(attempts)) {
    assert.match(outcome[name] ?? "it was not tried", gets, `${name}: ${does} ${target}`);
  }
  assert.ok(
    maps.some((map) => map["greeting"] === "hello from Purlin"),
    "the other function continued",
  );
  assert.ok(statSync(`/proc/${plane.pid}`).isDirectory(), "so did the control plane");
});
