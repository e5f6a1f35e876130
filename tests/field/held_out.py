# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody looks at while the replay is made: the set "held". settings.py says what is what."""

from settings import AB, DATA, FLUSH, PAGE, SLEEPS, SOURCE, TEXT, Program, Setting, compressor, crossing, shell

LIGHTTPD = """server.document-root = "@dir@/www"
server.port = @port@
server.bind = "127.0.0.1"
server.max-keep-alive-requests = 1000000
server.max-worker = @workers@
"""
ZONE = """$ORIGIN test.
@ 3600 IN SOA ns.test. root.test. 1 3600 3600 3600 3600
@ 3600 IN NS ns.test.
ns 3600 IN A 127.0.0.1
www 3600 IN A 127.0.0.2
"""
KNOT = """server:
  rundir: @dir@
  listen: 127.0.0.1@@port@
  udp-workers: 2
  tcp-workers: 1
  background-workers: 1
database:
  storage: @dir@
zone:
  - domain: test.
    file: @dir@/zone
"""
UNBOUND = """server:
  interface: 127.0.0.1
  port: @port@
  num-threads: 2
  chroot: ""
  username: ""
  directory: "@dir@"
  pidfile: "@dir@/pid"
  use-syslog: no
  do-ip6: no
  local-zone: "test." static
  local-data: "www.test. A 127.0.0.2"
remote-control:
  control-enable: no
"""
DNSPERF = "dnsperf -s 127.0.0.1 -p @port@ -d @dir@/queries -c 4 -n @rounds@ -q 8"
QUERIES = "www.test A\n" * 1000
MOSQUITTO = """listener @port@ 127.0.0.1
allow_anonymous true
max_queued_messages 0
user root
"""
VARNISH = """vcl 4.0;
backend default { .host = "127.0.0.1"; .port = "@port2@"; }
"""
NODE_FLUSH = ("const fs = require(\"fs\").promises; async function one(i) { const f = await fs.open(\"f\" + i, \"w\");"
              " for (let k = 0; k < @times@; k++) { await f.write(\"x\".repeat(4096)); if (@flush@) await"
              " f.datasync(); }"
              " await f.close(); } Promise.all([0, 1, 2, 3].map(one));")
NODE_SLEEP = ("async function go() { for (let i = 0; i < @times@; i++) await new Promise(f => setTimeout(f, @ms@)); }"
              " go();")
NODE_WORK = ("const w = require(\"worker_threads\"); if (w.isMainThread) for (let i = 0; i < 4; i++) new"
             " w.Worker(__filename); else { let s = 0; for (let i = 0; i < 2e8; i++) s = (s + i) % 1000; }")
RUBY_SLEEP = "4.times.map { |i| Thread.new { @times@.times { sleep(@ms@ / 1000.0) } } }.each(&:join)"
RUBY_FLUSH = ("4.times.map { |i| Thread.new { File.open(\"f#{i}\", \"w\") { |f| @times@.times { f.write(\"x\" * 4096);"
              " f.fdatasync if @flush@ == 1 } } } }.each(&:join)")
PERL_SLEEP = ("for my $i (1..3) { fork or do { select(undef, undef, undef, @ms@ / 1000) for 1..@times@; exit } }"
              " 1 while wait > 0;")
PHP = "<?php usleep(@ms@ * 1000); $s = 0; for ($i = 0; $i < @count@; $i++) $s += $i; echo $s, \"\\n\";"
PHP_FPM = """[global]
pid = @dir@/pid
error_log = @dir@/error.log
daemonize = no
[www]
user = root
listen = 127.0.0.1:@port2@
pm = static
pm.max_children = 4
clear_env = no
"""
PHP_FRONT = """daemon off; user root; worker_processes 1; pid @dir@/nginx.pid; error_log @dir@/error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path @dir@/body; proxy_temp_path @dir@/proxy; fastcgi_temp_path @dir@/fastcgi;
  uwsgi_temp_path @dir@/uwsgi; scgi_temp_path @dir@/scgi; keepalive_requests 1000000;
  server { listen 127.0.0.1:@port@; location / { fastcgi_pass 127.0.0.1:@port2@; include /etc/nginx/fastcgi_params;
    fastcgi_param SCRIPT_FILENAME @dir@/www/index.php; } }
}
"""
ROCKS = ("db_bench --db=@dir@/db --benchmarks=@what@ --num=@times@ --threads=4 --sync=@flush@ --disable_wal=0"
         " --histogram=0")


def sleeping(changed, factor="0.5", **more):
    return Setting("sleeps half as long", "sleep", changed, asked=SLEEPS, factor=factor, **more)


PROGRAMS = (
    Program("lighttpd", "held", {"lighttpd": "lighttpd", "ab": "apache2-utils"}, AB, size="requests",
            words={"requests": 30000, "workers": 0}, files={"lighttpd.conf": LIGHTTPD, "www/index.html": PAGE},
            servers=("lighttpd -D -f @dir@/lighttpd.conf",), settings=crossing()),
    Program("lighttpd 2 workers", "held", {"lighttpd": "lighttpd", "ab": "apache2-utils"}, AB, size="requests",
            words={"requests": 30000, "workers": 2}, files={"lighttpd.conf": LIGHTTPD, "www/index.html": PAGE},
            servers=("lighttpd -D -f @dir@/lighttpd.conf",), settings=crossing()),
    Program("varnish", "held", {"varnishd": "varnish", "lighttpd": "lighttpd", "ab": "apache2-utils"}, AB,
            size="requests", words={"requests": 15000, "workers": 0}, listens=("port2", "port"),
            files={"lighttpd.conf": LIGHTTPD.replace("@port@", "@port2@"), "www/index.html": PAGE, "v.vcl": VARNISH},
            servers=("lighttpd -D -f @dir@/lighttpd.conf",
                     "varnishd -F -j none -a 127.0.0.1:@port@ -f @dir@/v.vcl -n @dir@/v -s malloc,16m"),
            settings=crossing()),
    Program("dnsmasq", "held", {"dnsmasq": "dnsmasq-base", "dnsperf": "dnsperf"}, DNSPERF, words={"rounds": 20},
            size="rounds", files={"queries": QUERIES}, settings=crossing(),
            servers=("dnsmasq -k -p @port@ -a 127.0.0.1 -z -C /dev/null -u root --pid-file=@dir@/pid"
                     " --address=/www.test/127.0.0.2 -R -h",)),
    Program("knot", "held", {"knotd": "knot", "dnsperf": "dnsperf"}, DNSPERF, words={"rounds": 20}, size="rounds",
            files={"queries": QUERIES, "zone": ZONE, "knot.conf": KNOT}, servers=("knotd -c @dir@/knot.conf",),
            settings=crossing()),
    Program("unbound", "held", {"unbound": "unbound", "dnsperf": "dnsperf"}, DNSPERF, words={"rounds": 20},
            size="rounds", files={"queries": QUERIES, "unbound.conf": UNBOUND},
            servers=("unbound -d -c @dir@/unbound.conf",), settings=crossing()),
    Program("rsync", "held", {"rsync": "rsync"}, "rsync -a @flush@ @data@/tree/ copy/", words={"flush": "--fsync"},
            once=(f"sh -c 'mkdir tree; for i in $(seq 200); do {DATA} 20000 >tree/$i; done'",), settings=(
                Setting("--fsync, then not", "flush", {"flush": ""}, asked=FLUSH),)),
    Program("git add", "held", {"git": "git"}, "git -c core.fsync=@flush@ -C @dir@/copy add .", words={"flush": "all"},
            once=(f"sh -c 'mkdir tree; for i in $(seq 200); do {DATA} 20000 | cat - /proc/sys/kernel/random/uuid"
                  " >tree/$i; done'",), before=("cp -r @data@/tree copy", "git -C copy init -q"), settings=(
                Setting("core.fsync all, then none", "flush", {"flush": "none"}, asked=FLUSH),)),
    Program("git repack", "held", {"git": "git"}, "git -C @dir@/copy -c pack.threads=2 repack -a -d -f -q",
            once=("sh -c 'git init -q tree; cd tree; git config user.name x; git config user.email x@x; for i in"
                  " $(seq 25); do seq $i 20 90000 >f$i; seq 1 $((i * 3000)) >g; git add .;"
                  " git commit -q -m $i; done'",),
            before=("cp -r @data@/tree copy",), settings=crossing()),
    shell("tar gzip", "held", {"sh": "dash", "tar": "tar", "gzip": "gzip"}, "tar -c -C @data@ text | gzip -1 >out",
          crossing(), once=TEXT),
    Program("sort", "held", {"sort": "coreutils"}, "sort --parallel=2 -S 64M -o out @data@/text",
            once=(f"sh -c '{DATA} 12000000 | base64 -w 24 >text'",), settings=crossing(), environment={"LC_ALL": "C"}),
    Program("vips", "held", {"vips": "libvips-tools"}, "vips gaussblur @data@/in.v out.v 8",
            once=("vips gaussnoise in.v 2400 1800",), settings=crossing()),
    Program("graphicsmagick", "held", {"gm": "graphicsmagick"}, "gm convert @data@/in.miff -blur 0x6 out.miff",
            once=("gm convert -size 900x700 plasma:fractal in.miff",), settings=crossing()),
    Program("gcc -flto", "held", {"gcc": "gcc"}, "gcc -O2 -flto=2 -fno-fat-lto-objects -shared -fPIC -o out.so"
            " @data@/1.o @data@/2.o @data@/3.o @data@/4.o", settings=crossing(),
            once=(SOURCE, "sh -c 'for i in 1 2 3 4; do sed \"s/int f/int f_$i/\" a.c >$i.c;"
                  " gcc -O2 -flto -fPIC -c $i.c; done'")),
    Program("node", "held", {"node": "nodejs"}, "node f.js", words={"times": 40, "flush": 1},
            files={"f.js": NODE_FLUSH}, settings=(
                Setting("fdatasync, then none", "flush", {"flush": 0}, asked=FLUSH),)),
    Program("node setTimeout", "held", {"node": "nodejs"}, "node f.js", words={"times": 150, "ms": 8},
            files={"f.js": NODE_SLEEP}, settings=(
                Setting("setTimeout half as long", "sleep", {"ms": 4}, asked=(r"(poll|sleep) .*",), factor="0.5"),)),
    Program("node workers", "held", {"node": "nodejs"}, "node f.js", files={"f.js": NODE_WORK}, settings=crossing()),
    Program("ruby threads", "held", {"ruby": "ruby"}, "ruby f.rb", words={"times": 200, "ms": 6},
            files={"f.rb": RUBY_SLEEP}, settings=(sleeping({"ms": 3}),)),
    Program("ruby files", "held", {"ruby": "ruby"}, "ruby f.rb", words={"times": 40, "flush": 1},
            files={"f.rb": RUBY_FLUSH}, settings=(
                Setting("fdatasync, then none", "flush", {"flush": 0}, asked=FLUSH),)),
    Program("perl", "held", {"perl": "perl"}, "perl f.pl", words={"times": 200, "ms": 6}, files={"f.pl": PERL_SLEEP},
            settings=(Setting("select half as long", "sleep", {"ms": 3}, asked=(r"(poll|sleep) .*select.*",),
                              factor="0.5"),)),
    Program("php", "held", {"php": "php-cli"}, "php f.php", words={"times": 200, "ms": 6}, size="times",
            files={"f.php": "<?php for ($i = 0; $i < @times@; $i++) usleep(@ms@ * 1000);"},
            settings=(sleeping({"ms": 3}),)),
    Program("php-fpm", "held", {"php-fpm8.2": "php8.2-fpm", "nginx": "nginx-light", "ab": "apache2-utils"},
            "ab -q -n @requests@ -c 8 http://127.0.0.1:@port@/", size="requests",
            words={"requests": 800, "ms": 5, "count": 100}, listens=("port2", "port"),
            files={"fpm.conf": PHP_FPM, "nginx.conf": PHP_FRONT, "www/index.php": PHP},
            servers=("php-fpm8.2 -R -F -y @dir@/fpm.conf", "nginx -e @dir@/error.log -c @dir@/nginx.conf"),
            settings=(sleeping({"ms": 2.5}), *crossing(base={"ms": 0, "count": 50000})), stop="SIGTERM"),
    Program("mosquitto", "held", {"mosquitto": "mosquitto", "mosquitto_pub": "mosquitto-clients"},
            "sh -c 'seq @messages@ | mosquitto_pub -h 127.0.0.1 -p @port@ -t x -q 1 -l'", size="messages",
            words={"messages": 6000}, files={"m.conf": MOSQUITTO}, servers=("mosquitto -c @dir@/m.conf",),
            settings=crossing()),
    Program("beanstalkd", "held", {"beanstalkd": "beanstalkd", "/usr/bin/python3": "python3"},
            "/usr/bin/python3 @here@/loads/beanstalk.py @port@ 4 @jobs@", words={"jobs": 300, "flush": "-f0"},
            size="jobs", before=("mkdir log",), servers=("beanstalkd -l 127.0.0.1 -p @port@ -b @dir@/log @flush@",),
            settings=(Setting("fsync always, then never", "flush", {"flush": "-F"}, asked=FLUSH),
                      *crossing(base={"flush": "-F", "jobs": 8000}))),
    Program("rocksdb", "held", {"db_bench": "rocksdb-tools"}, ROCKS, size="times",
            words={"times": 100, "flush": 1, "what": "fillrandom"}, settings=(
                Setting("sync, then not", "flush", {"flush": 0}, asked=FLUSH),
                *crossing(base={"what": "fillrandom,readrandom", "flush": 0, "times": 30000}))),
    compressor("lbzip2", "held", {"lbzip2": "lbzip2"}, "lbzip2 -k -c -n @threads@ @data@/text"),
    compressor("plzip", "held", {"plzip": "plzip"}, "plzip -k -c -n @threads@ -B 1MiB -1 @data@/text"),
    Program("7z", "held", {"7z": "p7zip-full"}, "7z a -bd -mmt=2 -mx=1 -m0=lzma2 out.7z @data@/text", once=TEXT,
            settings=crossing()),
    Program("x264", "held", {"x264": "x264"}, "x264 --quiet --no-progress --threads 3 --preset veryfast --frames 100"
            " --demuxer raw --input-res 640x360 -o out.264 @data@/in.yuv", settings=crossing(),
            once=(f"sh -c '{DATA} 34560000 >in.yuv'",)),
    shell("xargs", "held", {"sh": "dash", "xargs": "findutils"}, "seq 40 | xargs -P 4 -n 1 sh -c \"sleep 0.0@ms@; :\"",
          (sleeping({"ms": 40}),), words={"ms": 80}),
    shell("openssl", "held", {"sh": "dash", "openssl": "openssl"}, "for i in 1 2 3; do openssl dgst -sha512 @data@/text"
          " & done; wait", crossing(), once=(f"sh -c '{DATA} 150000000 >text'",)),
    Program("stress-ng messages", "held", {"stress-ng": "stress-ng"}, "stress-ng -q --mq 2 --mq-ops @ops@",
            words={"ops": 200000}, size="ops", settings=crossing()),
    Program("stress-ng pipes", "held", {"stress-ng": "stress-ng"}, "stress-ng -q --pipe 2 --pipe-ops @ops@",
            words={"ops": 100000}, size="ops", settings=crossing()),
    Program("python processes", "held", {"/usr/bin/python3": "python3"}, "/usr/bin/python3 f.py", words={"times": 16},
            files={"f.py": "import concurrent.futures as f\ndef work(i):\n    return sum(range(1500000 + i))\n\n"
                   "with f.ProcessPoolExecutor(3) as pool:\n    print(sum(pool.map(work, range(@times@))))\n"},
            settings=crossing()),
    Program("make -j1", "held", {"make": "make", "gcc": "gcc"},
            "make -s -f @here@/loads/build.mk -j1 FLAGS=-O0 SOURCE=@data@/a.c", once=(SOURCE,), settings=crossing()),
)
