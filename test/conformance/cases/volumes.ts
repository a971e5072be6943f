// SPDX-License-Identifier: Apache-2.0
// Finalizers that protect claims, volumes and their classes while they are in use.
import { type Case, scenario } from "../harness/case.ts";
import { core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const claim = (name: string, metadata: Loose = {}, spec: Loose = {}): Loose => ({
  metadata: { name, ...metadata },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, storageClassName: "", ...spec },
});
const volume = (name: string): Loose => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/tmp" } },
});
const pod = (name: string, claimName: string, spec: Loose = {}): Loose => ({
  metadata: { name },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    ...spec,
  },
});

const held = ({ metadata }: Loose): Loose => ({
  isDeleted: metadata?.deletionTimestamp !== undefined,
  finalizers: metadata?.finalizers,
  managedFields: metadata?.managedFields,
});
const quiet = { quiet: true };

async function untilGone(s: Session, path: string): Promise<void> {
  await s.until(path, ({ code }) => code === 404);
}

async function endPod(s: Session, name: string): Promise<void> {
  await s.delete(core(s, "pods", name), { gracePeriodSeconds: 0 }, quiet);
  await s.until(core(s, "pods", name), ({ code }) => code === 404, quiet);
}

export const volumeCases: readonly Case[] = [
  scenario("finalizers of new claims, volumes and classes", async (s) => {
    await s.post(core(s, "persistentvolumeclaims"), claim("plain"));
    const finalizers = ["kubernetes.io/pvc-protection", "example.org/mine"];
    await s.post(core(s, "persistentvolumeclaims"), claim("own", { finalizers }));
    await s.post("/api/v1/persistentvolumes?dryRun=All", volume("plain"));
    const attributes = { metadata: { name: "plain" }, driverName: "example.org", parameters: { iops: "1" } };
    await s.post("/apis/storage.k8s.io/v1/volumeattributesclasses?dryRun=All", attributes);
  }),

  scenario("a claim that is deleted waits for its Pods", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200, quiet);
    const path = core(s, "persistentvolumeclaims", "used");
    await s.post(core(s, "persistentvolumeclaims"), claim("used"), quiet);
    await s.post(core(s, "pods"), pod("one", "used", { nodeName: "n" }), quiet);
    await s.post(core(s, "pods"), pod("two", "used", { nodeName: "n" }), quiet);
    await s.post(core(s, "pods"), pod("unscheduled", "used"), quiet);
    await s.delete(path);
    await endPod(s, "one");
    await s.get(path, { part: held });
    await endPod(s, "two");
    await untilGone(s, path);
  }),

  scenario("a claim without its finalizer gets it back", async (s) => {
    const path = core(s, "persistentvolumeclaims", "again");
    await s.post(core(s, "persistentvolumeclaims"), claim("again"), quiet);
    await s.patch(path, "merge", { metadata: { finalizers: null } }, quiet);
    await s.until(path, ({ body }) => body.metadata.finalizers !== undefined, { part: held });
  }),

  scenario("claims that ask for more storage", async (s) => {
    const classes = "/apis/storage.k8s.io/v1/storageclasses";
    const named = (name: string): string => `${s.namespace}-${name}`;
    const storageClass = (name: string, more: Loose): Loose => ({
      metadata: { name: named(name) },
      provisioner: "example.org/none",
      ...more,
    });
    await s.post(classes, storageClass("grows", { allowVolumeExpansion: true }), quiet);
    await s.post(classes, storageClass("fixed", { allowVolumeExpansion: false }), quiet);
    await s.post(classes, storageClass("silent", {}), quiet);
    const volumeName = "pv";
    const rows: Readonly<Record<string, readonly [metadata: Loose, spec: Loose]>> = {
      grows: [{}, { storageClassName: named("grows"), volumeName }],
      fixed: [{}, { storageClassName: named("fixed"), volumeName }],
      silent: [{}, { storageClassName: named("silent"), volumeName }],
      missing: [{}, { storageClassName: named("nope"), volumeName }],
      none: [{}, { volumeName }],
      annotated: [
        { annotations: { "volume.beta.kubernetes.io/storage-class": named("grows") } },
        { storageClassName: undefined, volumeName },
      ],
    };
    const resize = (name: string, storage: string, title: string): Promise<unknown> => {
      const spec = { resources: { requests: { storage } } };
      return s.patch(core(s, "persistentvolumeclaims", name), "merge", { spec }, { title: `${name}: ${title}` });
    };
    for (const [name, [metadata, spec]] of Object.entries(rows)) {
      await s.post(core(s, "persistentvolumeclaims"), claim(name, metadata, spec), quiet);
      await resize(name, "2Gi", "pending");
      const status = { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
      await s.patch(core(s, "persistentvolumeclaims", `${name}/status`), "merge", { status }, quiet);
      await resize(name, "1024Mi", "the same");
      await resize(name, "2Gi", "more");
      await resize(name, "1500Mi", "less");
    }
    const path = core(s, "persistentvolumeclaims", "fixed");
    await s.patch(path, "merge", { metadata: { labels: { a: "b" } } }, { title: "a label" });
    for (const name of ["grows", "fixed", "silent"]) await s.delete(`${classes}/${named(name)}`, undefined, quiet);
    await resize("grows", "3Gi", "without its class");
  }),

  scenario("a volume that is deleted waits for its claim", async (s) => {
    const name = `${s.namespace}-bound`;
    const path = `/api/v1/persistentvolumes/${name}`;
    await s.post("/api/v1/persistentvolumes", volume(name), quiet);
    await s.patch(`${path}/status`, "merge", { status: { phase: "Bound" } }, quiet);
    await s.delete(path, undefined, { part: held });
    await s.get(path, { part: held });
    await s.patch(`${path}/status`, "merge", { status: { phase: "Released" } }, { part: held });
    await untilGone(s, path);
  }),

  scenario("a class of volume attributes that is deleted waits for its claims", async (s) => {
    const name = `${s.namespace}-gold`;
    const path = `/apis/storage.k8s.io/v1/volumeattributesclasses/${name}`;
    const fields = { metadata: { name }, driverName: "example.org", parameters: { iops: "1" } };
    await s.post("/apis/storage.k8s.io/v1/volumeattributesclasses", fields, quiet);
    const using = claim("fast", {}, { volumeAttributesClassName: name });
    await s.post(core(s, "persistentvolumeclaims"), using, quiet);
    await s.delete(path, undefined, { part: held });
    await s.get(path, { part: held });
    await s.delete(core(s, "persistentvolumeclaims", "fast"), undefined, { part: held });
    await untilGone(s, path);
  }),
];
