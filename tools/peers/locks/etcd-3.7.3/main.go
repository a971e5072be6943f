package main

import "os"
import "go.etcd.io/etcd/server/v3/etcdmain"

func main() { etcdmain.Main(os.Args) }
