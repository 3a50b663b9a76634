#!/usr/bin/env bash
# A SLURM of one node, this machine, without systemd, cgroups or an accounting database (for tests).
#   single_node.sh start FOLDER [CPUS] [GPUS]    then: export SLURM_CONF=FOLDER/slurm.conf
#   single_node.sh stop FOLDER
# Needs root and Debian's packages slurm-wlm and munge. Everything lies under FOLDER, with a munge socket and ports
# of its own; only a link to slurm.conf stands in /etc/slurm meanwhile, for jobs whose environment is cleared of
# SLURM_CONF. GPUs are declared, not real.
set -euo pipefail

folder=$(realpath -m "$2")
host=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf
link=/etc/slurm/slurm.conf

wait_for() { # seconds, command: until it succeeds
  local tries=$(($1 * 10))
  shift
  until "$@" >/dev/null 2>&1; do
    ((tries-- > 0)) || { echo "gave up waiting for: $*" >&2; return 1; }
    sleep 0.1
  done
}

authenticates() { munge --socket "$folder/munge.socket" -n | unmunge --socket "$folder/munge.socket"; }
idle() { sinfo --noheader --format %T | grep -q '^idle'; }

start() {
  local cpus=${1:-2} gpus=${2:-1} memory ports devices=(/dev/null /dev/zero /dev/full /dev/random)
  [[ ! -e $link ]] || { echo "$link: this machine has a SLURM already" >&2; return 1; }
  mkdir -p "$folder"/{state,spool} "${link%/*}"
  chmod 700 "$folder"
  memory=$(awk '/MemTotal/ {print int($2 / 1024) - 512}' /proc/meminfo)
  ports=($(python3 -c 'import socket
taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in taken))'))
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
# Status is asked of squeue, which must still know a job when it is asked.
MinJobAge=3600
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory Gres=gpu:$gpus
PartitionName=batch Nodes=$host Default=YES MaxTime=INFINITE DefaultTime=60 State=UP
CONF
  : >"$folder/gres.conf"
  for ((i = 0; i < gpus; i++)); do
    echo "NodeName=$host Name=gpu File=${devices[$i]}" >>"$folder/gres.conf"
  done
  (umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
  munged --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" \
    --pid-file "$folder/munged.pid" --log-file "$folder/munged.log" --seed-file "$folder/munge.seed"
  wait_for 10 authenticates
  ln -sf "$SLURM_CONF" "$link"
  slurmctld
  wait_for 20 scontrol ping
  slurmd
  wait_for 30 idle
}

stop() {
  [[ $(readlink "$link") != "$SLURM_CONF" ]] || rm "$link"
  scancel --user root --full 2>/dev/null || true
  for daemon in slurmd slurmctld munged; do
    local file=$folder/$daemon.pid pid
    [[ -s $file ]] || continue
    pid=$(<"$file")
    kill "$pid" 2>/dev/null || true
    wait_for 20 sh -c "! kill -0 $pid" || kill -9 "$pid"
  done
}

"$1" "${@:3}"
