# SPDX-License-Identifier: Apache-2.0
# A configuration of nginx for a directory of its own.
# shellcheck shell=bash

write_nginx_conf() { # DIRECTORY PORT on|off: whether it goes into the background; two workers
	cat >"$1/nginx.conf" <<-CONF
		daemon $3;
		worker_processes 2;
		pid $1/nginx.pid;
		error_log $1/error.log notice;
		$( (($(id -u))) || echo "user root;")
		events { worker_connections 256; }
		http {
			access_log $1/access.log;
			client_body_temp_path $1/body; proxy_temp_path $1/proxy; fastcgi_temp_path $1/fastcgi;
			uwsgi_temp_path $1/uwsgi; scgi_temp_path $1/scgi;
			server { listen 127.0.0.1:$2; root $1/www; }
		}
	CONF
}
