# SPDX-License-Identifier: Apache-2.0
"""Programs whose errors were looked at while the replay was made: the set "train". settings.py says what is what."""

from settings import AB, FLUSH, PAGE, SLEEPS, SOURCE, Program, Setting, compressor, crossing, shell, twice_threads

SQL = ("sh -c 'for i in $(seq 4); do (for j in $(seq @rows@); do echo \"insert into t values($j);\"; done"
       " | sqlite3 -cmd \".timeout 60000\" -cmd \"pragma synchronous=@sync@\" db) & done; wait'")
FIO = ("fio --name=j --directory=@dir@ --rw=randwrite --bs=4k --size=2m --number_ios=@ios@ --numjobs=4 --ioengine=psync"
       " --fsync=@fsync@ --thinktime=@think@ --group_reporting --output=/dev/null")
NGINX = """daemon off; user root; master_process on; worker_processes @workers@; pid @dir@/nginx.pid;
error_log @dir@/error.log;
events { worker_connections 256; }
http {
  access_log @log@; client_body_temp_path @dir@/body; proxy_temp_path @dir@/proxy; keepalive_requests 1000000;
  fastcgi_temp_path @dir@/fastcgi; uwsgi_temp_path @dir@/uwsgi; scgi_temp_path @dir@/scgi;
  server { listen 127.0.0.1:@port@; root @dir@/www; }
}
"""
POSTGRES = ("postgres -D @dir@/data -p @port@ -k @dir@ -c autovacuum=off -c fsync=@fsync@"
            " -c synchronous_commit=@commit@ -c shared_buffers=32MB")
# Without buffering, a commit of 1 also opens the log with O_DIRECT: its writes would change together with its flushes.
MARIADB = ("mariadbd --no-defaults --datadir=@dir@/data --socket=@dir@/sock --port=@port@ --bind-address=127.0.0.1"
           " --innodb-flush-log-at-trx-commit=@commit@ --innodb-log-file-buffering=ON --innodb-buffer-pool-size=64M"
           " --pid-file=@dir@/pid --user=root")
SYSBENCH = ("sysbench @test@ --db-driver=mysql --mysql-socket=@dir@/sock --mysql-user=root --mysql-db=test --tables=2"
            " --table-size=2000 --threads=@clients@ --events=@events@ --time=0")


def sysbench_mariadb(test, group, events, settings):
    return Program(
        f"mariadb {test}", group, {"mariadbd": "mariadb-server", "sysbench": "sysbench"}, f"{SYSBENCH} run", settings,
        words={"test": test, "commit": 1, "clients": 4, "events": events}, size="events",
        once=("mariadb-install-db --no-defaults --datadir=@data@/mariadb --auth-root-authentication-method=normal"
              " --skip-test-db --user=root",),
        before=("cp -r @data@/mariadb @dir@/data",), servers=(MARIADB,),
        fill=("mariadb --no-defaults --socket=@dir@/sock -u root -e 'create database test'", f"{SYSBENCH} prepare"),
        tried=test == "oltp_write_only")


def fio(name, thread, ios):
    return Program(
        name, "train", {"fio": "fio"}, FIO + thread, words={"fsync": 1, "ios": ios, "think": 0}, size="ios", settings=(
            Setting("fsync=1, then 0", "flush", {"fsync": 0}, asked=FLUSH),
            Setting("thinktime 4 ms, then 2", "sleep", {"think": 2000}, {"fsync": 0, "think": 4000, "ios": 250},
                    asked=(r"sleep usec_sleep/.*",), factor="0.5")))


HAPROXY = """global
  nbthread 2
defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
listen web
  bind 127.0.0.1:@port@
  server one 127.0.0.1:@port2@
"""
APACHE = """ServerRoot /usr/lib/apache2
PidFile @dir@/pid
ServerName localhost
Listen 127.0.0.1:@port@
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
User www-data
Group www-data
DocumentRoot @dir@/www
ErrorLog @dir@/error.log
MaxKeepAliveRequests 0
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
LogFormat "%h %t %r %s %b" short
CustomLog @log@ short
DefaultRuntimeDir @dir@
<Directory @dir@/www>
Require all granted
</Directory>
"""


PROGRAMS = (
    Program("sqlite3 4 writers", "train", {"sqlite3": "sqlite3"}, SQL, before=("sqlite3 db 'create table t(a)'",),
            words={"rows": 40, "sync": "full"}, size="rows", settings=(
                Setting("synchronous full, then off", "flush", {"sync": "off"}, asked=FLUSH),
                *crossing(base={"sync": "off", "rows": 3000}))),
    fio("fio threads", " --thread", 500),
    fio("fio processes", "", 500),
    sysbench_mariadb("oltp_write_only", "train", 4000, (
        Setting("flush_log_at_trx_commit 1, then 2", "flush", {"commit": 2}, asked=FLUSH),
        Setting("the same, 8 clients", "flush", {"commit": 2}, {"clients": 8}, asked=FLUSH), *crossing())),
    sysbench_mariadb("oltp_read_write", "train", 1000, (
        Setting("flush_log_at_trx_commit 1, then 2", "flush", {"commit": 2}, asked=FLUSH), *crossing())),
    compressor("pbzip2", "train", {"pbzip2": "pbzip2"}, "pbzip2 -k -c -p@threads@ @data@/text", crossing()),
    compressor("zstd", "train", {"zstd": "zstd"}, "zstd -q -T@threads@ -B1048576 -@level@ -c @data@/text", crossing(),
               level=12),
    compressor("pigz", "train", {"pigz": "pigz"}, "pigz -k -c -p @threads@ @data@/text", (
        *crossing(), twice_threads("threads", 2, r"thread pigz.*")), tried=True),
    Program("redis", "train", {"redis-server": "redis-server", "redis-benchmark": "redis-tools"},
            "redis-benchmark -p @port@ -t set -n @requests@ -c 8 -q", size="requests",
            words={"fsync": "always", "requests": 16000},
            servers=("redis-server --port @port@ --save '' --appendonly yes --dir @dir@ --appendfsync @fsync@",),
            settings=(Setting("appendfsync always, then no", "flush", {"fsync": "no"}, asked=FLUSH),
                      *crossing(base={"fsync": "no", "requests": 40000})), tried=True),
    Program("nginx", "train", {"nginx": "nginx-light", "ab": "apache2-utils"},
            AB,
            words={"log": "@dir@/access.log", "requests": 40000, "workers": 1}, size="requests", files={
                "nginx.conf": NGINX, "www/index.html": PAGE},
            servers=("nginx -e @dir@/error.log -c @dir@/nginx.conf",), settings=(
                Setting("access_log to a file, then off", "log", {"log": "off"},
                        asked=(r"io (nginx|ngx_)[^/]*/write",)), *crossing()), tried=True),
    Program("memcached", "train", {"memcached": "memcached"}, "@build@/tests/targets/kvload @port@ 8 @requests@",
            words={"requests": 60000, "threads": 2}, size="requests",
            servers=("memcached -l 127.0.0.1 -p @port@ -U 0 -t @threads@ -o no_lru_maintainer -u root",),
            settings=(*crossing(), twice_threads("threads", 1, r"thread (memcached|worker).*")), tried=True),
    Program("postgres", "train", {"/usr/lib/postgresql/15/bin/pgbench": "postgresql"},
            "pgbench -h 127.0.0.1 -p @port@ -U bench -N -n -c 4 -j 1 -t @times@ postgres", user="postgres",
            words={"fsync": "on", "commit": "on", "times": 600}, size="times",
            once=(), before=("initdb -N -A trust -U bench -D @dir@/data",), servers=(POSTGRES,), stop="SIGINT",
            ready="pg_isready -q -h 127.0.0.1 -p @port@ -U bench",
            fill=("pgbench -h 127.0.0.1 -p @port@ -U bench -i -q -s 2 postgres",), settings=(
                Setting("fsync on, then off", "flush", {"fsync": "off"}, asked=FLUSH),
                Setting("synchronous_commit on, then off", "flush", {"commit": "off"}, asked=FLUSH),
                *crossing(base={"fsync": "off", "times": 2000})), tried=True),
    Program("python sleep loop", "train", {"/usr/bin/python3": "python3"},
            "/usr/bin/python3 -c 'import time\nfor i in range(@times@): time.sleep(@ms@ / 1000)'",
            words={"ms": 4, "times": 300}, size="times",
            settings=(Setting("time.sleep x 0.5", "sleep", {"ms": 2}, asked=SLEEPS, factor="0.5"),)),
    Program("haproxy", "train", {"haproxy": "haproxy", "nginx": "nginx-light", "ab": "apache2-utils"}, AB,
            words={"requests": 8000, "log": "off", "workers": 1, "port_of_nginx": "@port2@"}, size="requests",
            files={"haproxy.cfg": HAPROXY, "nginx.conf": NGINX.replace("@port@", "@port2@"), "www/index.html": PAGE},
            servers=("nginx -e @dir@/error.log -c @dir@/nginx.conf", "haproxy -db -f @dir@/haproxy.cfg"),
            listens=("port2", "port"), settings=crossing(), stop="SIGINT", tried=True),
    Program("apache", "train", {"apache2": "apache2", "ab": "apache2-utils"}, AB, size="requests",
            words={"requests": 20000, "log": "@dir@/access.log"}, files={"apache.conf": APACHE, "www/index.html": PAGE},
            servers=("apache2 -X -f @dir@/apache.conf",), settings=(
                Setting("access log to a file, then none", "log", {"log": "/dev/null"},
                        asked=(r"io apr_file_write.*/write",)),
                *crossing()), tried=True),
    Program("udp echo", "train", {"/usr/bin/python3": "python3"},
            "/usr/bin/python3 @here@/loads/udp.py @port@ @requests@ @ms@", words={"requests": 200, "ms": 4},
            size="requests", settings=(Setting("the server sleeps half as long", "sleep", {"ms": 2}, asked=SLEEPS,
                                               factor="0.5"),)),
    Program("make", "train", {"make": "make", "gcc": "gcc"},
            "make -s -B -f @here@/loads/build.mk -j@jobs@ FLAGS=-O2 SOURCE=@data@/a.c", words={"jobs": 3},
            once=(SOURCE,), settings=crossing(), tried=True),
    compressor("xz", "train", {"xz": "xz-utils"}, "xz -k -c -T@threads@ --block-size=1MiB -1 @data@/text", (
        *crossing(), twice_threads("threads", 2, r"thread liblzma.*")), tried=True),
    Program("ffmpeg", "train", {"ffmpeg": "ffmpeg"}, "ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25"
            " -frames:v @frames@ -c:v libx264 -preset veryfast -threads 3 -f null -", words={"frames": 120},
            size="frames", settings=crossing(), tried=True),
    Program("java server", "train", {"javac": "default-jdk-headless", "ab": "apache2-utils"},
            "ab -q -n @requests@ -c 8 http://127.0.0.1:@port@/", size="requests",
            words={"requests": 2000, "ms": 4, "rounds": 10}, once=("javac -d . @here@/loads/Web.java",),
            servers=("java -XX:+UseSerialGC -cp @data@ Web @port@ 4 @ms@ @rounds@",), settings=(
                Setting("Thread.sleep x 0.5", "sleep", {"ms": 2},
                        asked=(r"(sleep|wait|cond|poll) .*[sS]leep.*", r"sleep pool-.*/pthread_cond_timedwait"),
                        factor="0.5"),
                *crossing(base={"ms": 0, "rounds": 400})), tried=True),
    Program("python server", "train", {"/usr/bin/python3": "python3", "ab": "apache2-utils"},
            "ab -q -n @requests@ -c 8 http://127.0.0.1:@port@/", size="requests",
            words={"requests": 1600, "sleep": 4, "locked": 0, "count": 100},
            servers=("/usr/bin/python3 @here@/loads/web.py @port@ @sleep@ @locked@ @count@",), settings=(
                Setting("sleep x 0.5", "sleep", {"sleep": 2}, asked=SLEEPS, factor="0.5"),
                Setting("sleep under a lock x 0.5", "sleep", {"locked": 1}, {"sleep": 0, "locked": 2, "requests": 400},
                        asked=SLEEPS, factor="0.5"), *crossing()), tried=True),
    Program("erlang", "train", {"erl": "erlang-base"}, "erl -noshell -noinput +S 2:2 -eval '"
            "F = fun(F, 0) -> ok; (F, N) ->"
            " F(F, N - 1) end, P = self(), [spawn(fun() -> timer:sleep(@ms@), F(F, @turns@), P ! done end) ||"
            " _ <- lists:seq(1, 8)], [receive done -> ok end || _ <- lists:seq(1, 8)], halt().'",
            words={"turns": 100000, "ms": 1}, size="turns", settings=crossing()),
    Program("sysbench threads", "train", {"sysbench": "sysbench"}, "sysbench threads --threads=4 --events=@events@"
            " --time=0 --thread-locks=2 --thread-yields=100 run", words={"events": 3000}, size="events",
            settings=crossing()),
    Program("sysbench mutex", "train", {"sysbench": "sysbench"}, "sysbench mutex --threads=4 --mutex-num=2"
            " --mutex-locks=@locks@ --mutex-loops=2000 run", words={"locks": 20000}, size="locks", settings=crossing()),
    *(shell(f"{one} wait", "train", {one: one}, "for i in $(seq @turns@); do sleep 0.0@ms@ & :; wait; done",
            (Setting("sleep x 0.5", "sleep", {"ms": 20}, asked=SLEEPS, factor="0.5"),), words={"turns": 20, "ms": 40},
            size="turns") for one in ("dash", "bash")),
)
