// SPDX-License-Identifier: Apache-2.0
// The numbers of system calls, as the kernel's own headers list them.

/** An architecture that the filter can be made for, as Node names it. */
export type FilterArchitecture = "x64" | "arm64";

/** How the kernel names an architecture to a filter. */
export const architectureNames: Readonly<Record<FilterArchitecture, number>> = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

/** Numbers from here on are of system calls that this list has not been checked against (Linux 6.18 ends before). */
export const firstUnknownCall = 470;

/** The number of a call on each architecture that has it. */
type CallNumbers = Partial<Readonly<Record<FilterArchitecture, number>>>;

const on = (x64: number, arm64: number): CallNumbers => ({ x64, arm64 });
const onBoth = (number: number): CallNumbers => ({ x64: number, arm64: number });
const onX64 = (number: number): CallNumbers => ({ x64: number });

/** The numbers of the calls that the filter looks at. */
export const callNumbers: Readonly<Record<string, CallNumbers>> = {
  // Interfaces of the kernel that few programs need and many attacks used.
  io_uring_setup: onBoth(425),
  io_uring_enter: onBoth(426),
  io_uring_register: onBoth(427),
  bpf: on(321, 280),
  userfaultfd: on(323, 282),
  perf_event_open: on(298, 241),
  keyctl: on(250, 219),
  add_key: on(248, 217),
  request_key: on(249, 218),
  fanotify_init: on(300, 262),
  lookup_dcookie: on(212, 18),
  // Other processes.
  ptrace: on(101, 117),
  process_vm_readv: on(310, 270),
  process_vm_writev: on(311, 271),
  kcmp: on(312, 272),
  pidfd_getfd: onBoth(438),
  move_pages: on(279, 239),
  migrate_pages: on(256, 238),
  // Mounts and roots.
  mount: on(165, 40),
  umount2: on(166, 39),
  pivot_root: on(155, 41),
  chroot: on(161, 51),
  open_tree: onBoth(428),
  move_mount: onBoth(429),
  fsopen: onBoth(430),
  fsconfig: onBoth(431),
  fsmount: onBoth(432),
  fspick: onBoth(433),
  mount_setattr: onBoth(442),
  statmount: onBoth(457),
  listmount: onBoth(458),
  open_tree_attr: onBoth(467),
  // Files without a path.
  open_by_handle_at: on(304, 265),
  name_to_handle_at: on(303, 264),
  quotactl: on(179, 60),
  quotactl_fd: onBoth(443),
  // The machine.
  kexec_load: on(246, 104),
  kexec_file_load: on(320, 294),
  init_module: on(175, 105),
  finit_module: on(313, 273),
  delete_module: on(176, 106),
  reboot: on(169, 142),
  swapon: on(167, 224),
  swapoff: on(168, 225),
  acct: on(163, 89),
  syslog: on(103, 116),
  vhangup: on(153, 58),
  settimeofday: on(164, 170),
  clock_settime: on(227, 112),
  clock_adjtime: on(305, 266),
  sethostname: on(170, 161),
  setdomainname: on(171, 162),
  iopl: onX64(172),
  ioperm: onX64(173),
  modify_ldt: onX64(154),
  uselib: onX64(134),
  ustat: onX64(136),
  sysfs: onX64(139),
  _sysctl: onX64(156),
  create_module: onX64(174),
  query_module: onX64(178),
  nfsservctl: on(180, 42),
  // Namespaces.
  setns: on(308, 268),
  unshare: on(272, 97),
  clone: on(56, 220),
  clone3: onBoth(435),
  // Calls of which only some arguments are refused.
  personality: on(135, 92),
  ioctl: on(16, 29),
  prctl: on(157, 167),
  socket: on(41, 198),
  socketpair: on(53, 199),
};
